"""A room or a kind by the name that a user gives."""

from __future__ import annotations

from weft.errors import ConfigError
from weft.reference.describe import DescribedKind, Room, describe_room
from weft.reference.rooms import ROOMS
from weft.spec import nearest


def find_room(name: str) -> Room:
    """The room of this name, or of the key by which a config writes it; raises with the nearest right name."""
    by_name = {known: place for place in reversed(ROOMS) for known in (place.key, place.name)}
    if name not in by_name:
        rooms = ", ".join(place.name for place in ROOMS)
        raise ConfigError(f"there is no room {name!r}; rooms: {rooms}{nearest(name, by_name)}")
    return describe_room(by_name[name])


def find_kind(room: Room, name: str) -> DescribedKind:
    """The kind of this name; raises with the nearest right name."""
    if not room.has_kinds:
        raise ConfigError(f"{room.name} has no kinds; run: weft kinds {room.name}")
    if name not in room.kinds:
        kinds = ", ".join(room.kinds)
        raise ConfigError(f"{room.name} has no kind {name!r}; kinds: {kinds}{nearest(name, room.kinds)}")
    return room.kinds[name]
