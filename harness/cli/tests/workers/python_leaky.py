#!/usr/bin/env python3
"""A worker in plain Python, written from docs/protocol.md alone. One of its variants keeps a page of each iteration."""
import json, sys, time

WORKLOAD = {"id": "pages", "version": 1, "cases": [{"id": "c"}], "variants": [{"id": "keeps"}, {"id": "drops"}]}
kept = []
variant = None

def iterate(iterations):
    for _ in range(iterations):
        page = bytearray(b"x" * 4096)
        if variant == "keeps":
            kept.append(page)
        time.sleep(0.0002)

def sample(lead_in, iterations, **_):
    iterate(lead_in)
    start = time.monotonic_ns()
    iterate(iterations)
    return {"wall_ns": time.monotonic_ns() - start}

def answer(request):
    global variant
    op = request["op"]
    if op == "hello":
        return {"protocol": 1, "modes": ["timed"]}
    if op == "describe":
        return {"workloads": [WORKLOAD]}
    if op == "prepare":
        variant = request["benchmark"].split("/")[2]
        return {"handle": 1}
    if op == "check":
        return {"passed": True}
    return sample(**request) if op == "sample" else {}

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"perfharness": 1, "id": request["id"], "ok": answer(request)}), flush=True)
