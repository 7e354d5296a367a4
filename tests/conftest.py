"""How many cases are generated, and what no generated case may depend on."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "dev",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dev")
