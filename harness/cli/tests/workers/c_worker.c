/* A worker in plain C, written from docs/protocol.md alone. It reads requests by searching for keys, which is enough for what
   the harness sends. MORE is added to the turns of a hundred thousand. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef MORE
#define MORE 0
#endif

static char line[1 << 20];
static uint64_t state;

static long long number(const char *key) {
    const char *found = strstr(line, key);
    return found ? atoll(found + strlen(key)) : 0;
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long cpu(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((noinline)) static uint64_t churn(uint64_t state) {
    for (int turn = 0; turn < 100000 + MORE; turn++)
        state = (state ^ (state >> 29)) * 0xbf58476d1ce4e5b9ULL + turn;
    return state;
}

__attribute__((noinline)) static uint64_t iteration(uint64_t state) {
    return churn(state) ^ 1;
}

int main(void) {
    while (fgets(line, sizeof line, stdin)) {
        long long id = number("\"id\":");
        printf("{\"perfharness\":1,\"id\":%lld,\"ok\":", id);
        if (strstr(line, "\"op\":\"hello\"")) {
            printf("{\"protocol\":1,\"modes\":[\"timed\"],\"clock_ns\":%lld}", now());
        } else if (strstr(line, "\"op\":\"describe\"")) {
            printf("{\"workloads\":[{\"id\":\"churn\",\"version\":1,\"summary\":\"bits\",\"cases\":[{\"id\":\"c\"}],"
                   "\"variants\":[{\"id\":\"plain\",\"role\":\"other\"}]}]}");
        } else if (strstr(line, "\"op\":\"prepare\"")) {
            printf("{\"handle\":%lld}", id);
        } else if (strstr(line, "\"op\":\"sample\"")) {
            long long lead_in = number("\"lead_in\":"), iterations = number("\"iterations\":");
            state = number("\"round\":");
            for (long long at = 0; at < lead_in; at++)
                state = iteration(state);
            long long start = now(), used = cpu();
            for (long long at = 0; at < iterations; at++)
                state = iteration(state);
            used = cpu() - used;
            printf("{\"start_ns\":%lld,\"wall_ns\":%lld,\"cpu_ns\":%lld,\"readings\":{}}", start, now() - start, used);
        } else if (strstr(line, "\"op\":\"check\"")) {
            printf("{\"passed\":true,\"input\":\"0\",\"output\":\"0\",\"readings\":{}}");
        } else {
            printf("{}");
        }
        printf("}\n");
        fflush(stdout);
    }
    return 0;
}
