"""Compares two event streams, frame by frame of each kind."""
from compare import Comparison


def flat(frames):
    """[(topic, type, key's job or kind, event)]; frames without events keep a stream alive."""
    events = []
    for frame in frames:
        for event in (frame.get("frame", frame) or {}).get("Events") or []:
            events.append(event)
    return events


def kind_of(event):
    return event.get("Topic"), event.get("Type")


def compare_frames(matching, recorded, stream):
    """One answer for the stream itself (status, kinds of events), then one per kind of event: its first payload."""
    c = Comparison(matching, recorded["path"])
    if recorded["status"] != stream.status:
        c.differ("status", "status", recorded["status"], stream.status)
    there, here = flat(recorded["frames"]), flat(stream.frames)
    kinds = [sorted({kind_of(event) for event in events}, key=str) for events in (there, here)]
    for kind in kinds[0]:
        if kind not in kinds[1]:
            c.differ("Events", "missing", "/".join(map(str, kind)))
    for kind in kinds[1]:
        if kind not in kinds[0]:
            c.differ("Events", "extra", here="/".join(map(str, kind)))
    yield "kinds", c.differences
    for kind in kinds[0]:
        left = [event for event in there if kind_of(event) == kind]
        right = [event for event in here if kind_of(event) == kind]
        if not right:
            yield "/".join(map(str, kind)), [] + compare_nothing(matching, recorded, kind)
            continue
        c = Comparison(matching, recorded["path"])
        same = same_object(matching, left[0], right)
        c.values({k: v for k, v in left[0].items() if k != "FilterKeys"},
                 {k: v for k, v in same.items() if k != "FilterKeys"}, "Events[]")
        yield "/".join(map(str, kind)), c.differences


def same_object(matching, left, right):
    """The first event of the same object: nodes register in any order, and rows of one entry have none."""
    def name_of(event):
        payload = event["Payload"].get("Allocation")
        return (payload["JobID"], payload["Name"]) if payload else event["Key"]
    wanted = matching.node_here(left["Key"]) if left["Topic"] == "Node" else name_of(left)
    return next((event for event in right if name_of(event) == wanted), right[0])


def compare_nothing(matching, recorded, kind):
    c = Comparison(matching, recorded["path"])
    c.differ("Events[]", "missing", "/".join(map(str, kind)))
    return c.differences
