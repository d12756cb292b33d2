"""What tests/sessions says of the behaviour of sessions, on the Dex engine; what is left out is in conftest.py."""

from tests.sessions.test_cancelling import *  # noqa: F403
from tests.sessions.test_changed_deployments import *  # noqa: F403
from tests.sessions.test_credentials_in_arguments import *  # noqa: F403
from tests.sessions.test_engine import *  # noqa: F403
from tests.sessions.test_fencing import *  # noqa: F403
from tests.sessions.test_inside_calls import *  # noqa: F403
from tests.sessions.test_keeping import *  # noqa: F403
from tests.sessions.test_listing import *  # noqa: F403
from tests.sessions.test_messages import *  # noqa: F403
from tests.sessions.test_outcomes import *  # noqa: F403
from tests.sessions.test_refusals import *  # noqa: F403
from tests.sessions.test_requests import *  # noqa: F403
from tests.sessions.test_segments import *  # noqa: F403
from tests.sessions.test_settling import *  # noqa: F403
from tests.sessions.test_state_limit import *  # noqa: F403
from tests.sessions.test_steering import *  # noqa: F403
from tests.sessions.test_step_graph import *  # noqa: F403
from tests.sessions.test_turns import *  # noqa: F403
