"""What numba's tests expect of the `conftest.py` that stands beside them in its repository and is not in the package."""
import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False
