// A signal is a band.
alias Value = f32;
alias Flags = bool;
const WIDTH = 1u;

fn store(index: Value, to: u32, to_second: u32, has_second: bool) {
    result[to] = index;
}
