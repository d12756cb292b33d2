"""Worker processes killed with SIGKILL, on the Dex engine; what is left out is in conftest.py."""

from tests.sessions.test_counted_runs import *  # noqa: F403
from tests.sessions.test_crashes import *  # noqa: F403
from tests.sessions.test_deployed_anew import *  # noqa: F403
from tests.sessions.test_several_workers import *  # noqa: F403
