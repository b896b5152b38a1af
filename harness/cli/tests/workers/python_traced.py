#!/usr/bin/env python3
"""A worker in plain Python that takes traced samples, written from docs/protocol.md alone. The names of its spans are
such that a file could break on them, and one of its tracks has a clock of its own."""
import json, sys, time

BEGAN = time.monotonic_ns()
WORKLOAD = {"id": "naps", "version": 1, "cases": [{"id": "c"}], "variants": [{"id": "nap"}]}
NAME = 'a "nap"\n\\ \x1b[31m'

def sample(mode, lead_in, iterations, **_):
    spans, live = [], []
    start = time.monotonic_ns()
    for number in range(lead_in + iterations):
        if number == lead_in:
            start = time.monotonic_ns()
        began = time.monotonic_ns()
        live.append([began, 100 * number])
        time.sleep(0.002)
        took = time.monotonic_ns() - began
        spans.append({"track": "host", "name": f"iteration {number - lead_in}", "kind": "iteration",
                      "start_ns": began, "duration_ns": took})
        spans.append({"track": "naps", "name": NAME, "start_ns": 1000 * number, "duration_ns": 5})
    answer = {"start_ns": start, "wall_ns": time.monotonic_ns() - start}
    if mode == "traced":
        answer["trace"] = {
            "spans": spans, "tracks": {"naps": {"own_clock": True}},
            "counters": [{"name": "dreams", "unit": "count", "points": live}],
            "holders": [{"label": NAME, "count": 1, "bytes": 7}],
            "facts": {"bed": "soft", "alive_ns": str(time.monotonic_ns() - BEGAN)},
            "absent": {"gpu-busy": "it sleeps"}}
    return answer

def answer(request):
    op = request["op"]
    if op == "hello":
        return {"protocol": 1, "modes": ["timed", "traced", "of a later version"]}
    if op == "describe":
        return {"workloads": [WORKLOAD]}
    if op == "prepare":
        return {"handle": 1}
    if op == "check":
        return {"passed": True}
    return sample(**request) if op == "sample" else {}

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"perfharness": 1, "id": request["id"], "ok": answer(request)}), flush=True)
