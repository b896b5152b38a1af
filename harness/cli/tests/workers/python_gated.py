#!/usr/bin/env python3
"""The worker of a repository whose changes are gated. Tests edit the constants, commit, and let the gate find out."""
import json, os, sys, time

STEPS = 10_000  # of a loop that nobody needs, in an iteration
COPIES = 1  # of a page, in an iteration
OFFSET = 0  # what is added to the result
WORKLOAD = {"id": "gated", "version": 1}
CASE = {"id": "n1"}
VARIANTS = [{"id": "before", "role": "slow"}, {"id": "work", "role": "other"}]
BENCHMARKS = []
METRICS = [{"id": "copies", "unit": "count", "kind": "exact"}]
PAGE = bytes(4096)
copied = 0
number = 0


def launch():
    """Numbers the processes that ask, from 1, over all of a gate."""
    global number
    if not number:
        with open(os.path.join(os.environ["TMPDIR"], "launches"), "ab") as file:
            file.write(b".")
            number = file.tell()
    return number


def iteration(start):
    global copied
    for _ in range(COPIES):
        bytearray(PAGE)
        copied += 1
    for _ in range(STEPS):
        pass
    return start * start + OFFSET


def inputs(round, index):
    return round * 1_000_003 + index


def sample(place, mode, round, offset, lead_in, iterations, **_):
    global copied
    for index in range(offset, offset + lead_in):
        iteration(inputs(round, index))
    copied, first = 0, offset + lead_in
    start, cpu = time.monotonic_ns(), time.process_time_ns()
    for index in range(first, first + iterations):
        place[0] = iteration(inputs(round, index))
    wall, cpu = time.monotonic_ns() - start, time.process_time_ns() - cpu
    readings = {metric["id"]: copied for metric in METRICS} if mode == "metered" else {}
    return {"start_ns": start, "wall_ns": wall, "cpu_ns": cpu, "readings": readings}


def check(place, round, index, fresh, **_):
    start = inputs(round, index)
    if fresh:
        place[0] = iteration(start)
    return {"passed": place[0] == start * start, "input": str(start), "output": str(place[0])}


def answer(request, places={}):
    op = request["op"]
    if op == "hello":
        return {"protocol": 1, "modes": ["timed", "metered"], "clock_ns": time.monotonic_ns()}
    if op == "describe":
        parts = {"cases": [CASE], "variants": VARIANTS, "benchmarks": BENCHMARKS, "metrics": METRICS}
        return {"workloads": [WORKLOAD | parts]}
    if op == "prepare":
        places[request["id"]] = [None]
        return {"handle": request["id"]}
    if op in ("sample", "check"):
        place = places[request.pop("handle")]
        return (sample if op == "sample" else check)(place, **request)
    return {}  # release and finish


for line in sys.stdin:
    request = json.loads(line)
    frame = {"perfharness": 1, "id": request["id"]}
    try:
        frame["ok"] = answer(request)
    except Exception as error:
        frame["error"] = {"code": "failed", "message": repr(error)}
    print(json.dumps(frame), flush=True)
