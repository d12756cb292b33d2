"""What tests/sessions says of the behaviour of sessions, on the Dex engine.

Left out: scenarios that read a database's own tables, and those in which a request is accepted while no Worker runs at
all, since on Dex a request is an RPC that a Worker answers (docs/dex.md).
"""

from tests.sessions.test_messages import *  # noqa: F403
from tests.sessions.test_outcomes import *  # noqa: F403
from tests.sessions.test_requests import *  # noqa: F403
from tests.sessions.test_segments import *  # noqa: F403
from tests.sessions.test_state_limit import *  # noqa: F403
from tests.sessions.test_turns import *  # noqa: F403
