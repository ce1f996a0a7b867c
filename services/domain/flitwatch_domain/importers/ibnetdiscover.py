"""InfiniBand topologies in the format of `ibnetdiscover` (infiniband-diags) and ibsim.

Each device has a section: `Switch 41 "S-0c42..." # "MF0;SLG04-16:MQM8700/U1" enhanced port 0 lid 1380 lmc 0`, `Ca 1 "H-0c42..." # "luna-0560 mlx5_4"`.
Below it, each cabled port has a line: `[25] "S-0c42..."[16] # "name" lid 894 4xHDR`. Blanks between the parts may be missing.
"""

from __future__ import annotations

import re

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.fabric.model import check_name
from flitwatch_domain.importers import ibnames, ibtree
from flitwatch_domain.importers.ibnames import Cable, Device, End
from flitwatch_domain.importers.text import Warnings, numbered_lines
from flitwatch_domain.units import infiniband_bandwidth_bps

SECTION = re.compile(
    r'\s*(Switch|Ca|Hca|Rt)\s*([0-9]{1,6})\s*"([SHR])-([0-9a-fA-F]+)"\s*(?:#\s*(?:"(.*?)")?\s*(.*))?$', re.IGNORECASE
)
ATTRIBUTE = re.compile(r"\s*(vendid|devid|sysimgguid|switchguid|caguid|rtguid)\s*=\s*(\S*)\s*(#.*)?$")
#: A line that begins like one of the topology's but does not match has lost a cable or a device.
_CUT = re.compile(r'\s*(\[\s*[0-9]+\s*\]|(Switch|Ca|Hca|Rt)\s*[0-9]+\s*"[SHR]-)', re.IGNORECASE)
#: Additions of a terminal: colours, cursor movements, its title, backspaces.
TERMINAL = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[()][0-9A-Za-z]|\x1b[=>@-Z\\^_]|[\x07\x08]"
)
#: A line of `ibnetdiscover --ports`.
PORTS_LINE = re.compile(r"\s*(CA|SW|RT)\s+[0-9]+\s+[0-9]+\s+0x[0-9a-f]{1,16}\s+\S+\s+\S+", re.IGNORECASE)
_LID = re.compile(r"\blid\s+([0-9]{1,5})\b")
_PORT = re.compile(
    r"\s*\[\s*([0-9]{1,6})\s*\]\s*(?:\[ext\s*[0-9]+\])?\s*(?:\(([0-9a-fA-F]+)\))?\s*"
    r'"([SHR])-([0-9a-fA-F]+)"\s*\[\s*([0-9]{1,6})\s*\]\s*(?:\[ext\s*[0-9]+\])?\s*(?:\(([0-9a-fA-F]+)\))?\s*(?:#\s*(.*))?$'
)
_IGNORED = re.compile(r"\s*(#.*|Chassis\b.*|(Spine|Line)\s+[0-9]+\b.*)?$")
#: Width and speed; with `--full`, numbers such as s=64 w=2 follow.
_SPEED = re.compile(r'(?:^|\s)([0-9]{1,2}x[^\s"]+)(?:\s+[a-z]=\S+)*\s*$')
_QUOTED = re.compile(r'"(.*?)"')
#: An adapter's own LID is at the beginning of its line's comment; on a switch's line the adapter's LID follows its description.
_OWN_LID = re.compile(r"\s*lid\s+([0-9]{1,5})\s+lmc\s+([0-9])\b")
_PEER_LID = re.compile(r'"\s*lid\s+([0-9]{1,5})\b')


def parse_fabric(text: str, where: str, name: str) -> Fabric:
    """Parse ibnetdiscover's output; BadInput gives the line that is unreadable or contradicts another."""
    warnings = Warnings(where)
    devices, cables = _read_devices(text, where, warnings)
    if not any(device.is_switch for device in devices.values()):
        raise BadInput("lists no switch", where=where)
    joined = _join_cables(devices, cables, where, warnings)
    return ibtree.assemble_fabric(devices, joined, ibnames.endpoint_names(devices, warnings), where, name, warnings)


def _read_devices(text: str, where: str, warnings: Warnings) -> tuple[dict[str, Device], dict[End, Cable]]:
    devices: dict[str, Device] = {}
    cables: dict[End, Cable] = {}
    current: Device | None = None
    device_id = 0
    for number, raw in numbered_lines(text):
        here = f"{where}:{number}"
        line = TERMINAL.sub("", raw)
        if match := SECTION.match(line):
            current = _open_section(devices, match, number, here)
            current.device_id, device_id = device_id, 0
        elif match := _PORT.match(line):
            if current is None:
                raise BadInput("a port is listed before any switch or adapter", where=here)
            _add_port(devices, cables, current, match, number, here)
        elif _CUT.match(line):
            raise BadInput(
                f"cannot read {line.strip()[:80]!r}", where=here, advice="Expected a line of ibnetdiscover's output."
            )
        elif match := ATTRIBUTE.match(line):
            if match.group(1).lower() == "devid":
                device_id = _device_id(match.group(2))
        elif not _IGNORED.match(line):
            # Text around the captured output: the tool's messages, a prompt, the first line of `script`.
            warnings.add("lines that are not ibnetdiscover's output", number, f"skipped {line.strip()[:80]!r}")
    return devices, cables


def _device_id(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        return 0


def _open_section(devices: dict[str, Device], match: re.Match[str], number: int, here: str) -> Device:
    word, ports, letter, guid, text, rest = match.groups()
    guid, is_switch, description = guid.lower(), word.lower() == "switch", (text or "").replace("\t", " ")
    if is_switch != (letter == "S"):
        raise BadInput(f'{word} is named "{letter}-{guid}"', where=here)
    check_name("device", description, here)
    previous = devices.get(guid)
    if previous is not None and previous.defined:
        raise BadInput(f"{letter}-{guid} is described twice; first on line {previous.line}", where=here)
    described = description or (previous.description if previous else "")
    device = Device(guid, is_switch, number, int(ports), described, is_router=letter.upper() == "R")
    if previous is not None:
        if previous.is_switch != is_switch:
            raise BadInput(f"{guid} is a {word} here, but not on line {previous.line}", where=here)
        device.port_guid.update(previous.port_guid)
        device.lid.update(previous.lid)
    if is_switch and (own := _LID.search(rest or "")):
        device.lid[0] = int(own.group(1))
    devices[guid] = device
    return device


def _add_port(
    devices: dict[str, Device], cables: dict[End, Cable], current: Device, match: re.Match[str], number: int, here: str
) -> None:
    port_text, own_guid, letter, peer_guid, peer_port_text, peer_port_guid, comment = match.groups()
    port, peer_port, peer_guid = int(port_text), int(peer_port_text), peer_guid.lower()
    if current.ports and port > current.ports:
        raise BadInput(f"port {port} of a device with {current.ports} ports (line {current.line})", where=here)
    peer = devices.get(peer_guid)
    if peer is None:
        quoted = _QUOTED.search(comment or "")
        description = quoted.group(1).replace("\t", " ") if quoted else ""
        check_name("device", description, here)
        peer = Device(peer_guid, letter == "S", number, 0, description, defined=False, is_router=letter == "R")
        devices[peer_guid] = peer
    elif peer.is_switch != (letter == "S"):
        raise BadInput(f'"{letter}-{peer_guid}" has another kind on line {peer.line}', where=here)
    if own_guid:
        current.port_guid[port] = own_guid.lower()
    if peer_port_guid:
        peer.port_guid[peer_port] = peer_port_guid.lower()
    if own := _OWN_LID.match(comment or ""):
        current.lid[port], current.lmc[port] = int(own.group(1)), int(own.group(2))
    if theirs := _PEER_LID.search(comment or ""):
        peer.lid.setdefault(peer_port, int(theirs.group(1)))
    speed = _SPEED.search(comment or "")
    cable = Cable((peer_guid, peer_port), speed.group(1) if speed else None, number)
    before = cables.get((current.guid, port))
    if before is not None and before.peer != cable.peer:
        raise BadInput(
            f"port {port} of {_format_device(devices, current.guid)} is listed twice with different cables; first on line {before.line}",
            where=here,
        )
    cables.setdefault((current.guid, port), cable)


def _join_cables(
    devices: dict[str, Device], cables: dict[End, Cable], where: str, warnings: Warnings
) -> list[tuple[End, End, float]]:
    """Return each cable once, with its bandwidth in bits per second (NaN unknown), after a check of both ends against each other."""
    joined = []
    claimed: dict[End, int] = {}
    for end, cable in cables.items():
        peer, here = cable.peer, f"{where}:{cable.line}"
        back = cables.get(peer)
        if back is not None and back.peer != end:
            raise BadInput(
                f"port {end[1]} of {_format_device(devices, end[0])} leads to port {peer[1]} of {_format_device(devices, peer[0])}, "
                f"which leads to port {back.peer[1]} of {_format_device(devices, back.peer[0])} (line {back.line})",
                where=here,
            )
        if back is None and claimed.setdefault(peer, cable.line) != cable.line:
            raise BadInput(f"line {claimed[peer]} leads to the same port", where=here)
        if peer[0] == end[0]:
            if end <= peer:
                warnings.add(
                    "loopback cable",
                    cable.line,
                    f"ports {end[1]} and {peer[1]} of one device are cabled together: left out",
                )
            continue
        if back is not None and end > peer:
            continue
        if not devices[peer[0]].defined:
            # Part of a fabric is usable, but users who expect a whole one need the warning.
            text = f"{_format_device(devices, peer[0])} is only known as a peer: the file may be incomplete"
            warnings.add("device without a section", cable.line, text)
        elif back is None:
            text = f"only this end lists the cable to port {peer[1]} of {_format_device(devices, peer[0])}"
            warnings.add("cable listed from one end only", cable.line, text)
        joined.append((end, peer, _lower_bandwidth_bps(cable, back, warnings)))
    return joined


def _lower_bandwidth_bps(cable: Cable, back: Cable | None, warnings: Warnings) -> float:
    rates = []
    for text, line in {(cable.speed, cable.line), (back.speed if back else None, back.line if back else 0)}:
        if text is None:
            continue
        try:
            rates.append(infiniband_bandwidth_bps(text))
        except BadInput as unknown:
            warnings.add("unknown speed", line, unknown.reason)
    if len(rates) == 2 and rates[0] != rates[1]:
        warnings.add("speeds differ", cable.line, "the cable's two ends state different speeds: the lower one is used")
    return min(rates, default=float("nan"))


def _format_device(devices: dict[str, Device], guid: str) -> str:
    device = devices[guid]
    return f'"{device.description}"' if device.description else f"{'S' if device.is_switch else 'H'}-{guid}"
