"""The profiles of generated cases; none of them has a deadline, which a busy machine exceeds."""

from hypothesis import HealthCheck, settings
from profiles import EXAMPLES

for name, examples in EXAMPLES.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("dev")
