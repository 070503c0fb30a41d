"""Protocol constants."""

from __future__ import annotations

import pytest

from cassandra import ConsistencyLevel, ProtocolVersion, WriteType, consistency_value_to_name


def test_names_and_values_of_levels_match() -> None:
    for name, value in ConsistencyLevel.name_to_value.items():
        assert getattr(ConsistencyLevel, name) == value
        assert ConsistencyLevel.value_to_name[value] == name
        assert consistency_value_to_name(value) == name
    assert consistency_value_to_name(None) == "Not Set"
    assert consistency_value_to_name(622) == "622"  # as a server may say


def test_serial_levels() -> None:
    serial = [name for name, value in ConsistencyLevel.name_to_value.items() if ConsistencyLevel.is_serial(value)]
    assert serial == ["SERIAL", "LOCAL_SERIAL"]


def test_names_and_values_of_write_types_match() -> None:
    for name, value in WriteType.name_to_value.items():
        assert getattr(WriteType, name) == value
        assert WriteType.value_to_name[value] == name


@pytest.mark.parametrize(("version", "lower"), [(66, 5), (6, 5), (5, 4), (4, 3), (3, 0), (1, 0)])
def test_the_next_lower_version(version: int, lower: int) -> None:
    assert ProtocolVersion.get_lower_supported(version) == lower


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_protocol_features_that_need_version_5(version: int) -> None:
    later = version >= 5
    for feature in (
        ProtocolVersion.uses_int_query_flags,
        ProtocolVersion.uses_prepare_flags,
        ProtocolVersion.uses_prepared_metadata,
        ProtocolVersion.uses_error_code_map,
        ProtocolVersion.uses_keyspace_flag,
        ProtocolVersion.has_checksumming_support,
    ):
        assert feature(version) is later


def test_dse_versions_have_no_segments() -> None:
    assert not ProtocolVersion.has_checksumming_support(ProtocolVersion.DSE_V1)
    assert ProtocolVersion.uses_error_code_map(ProtocolVersion.DSE_V1)
