// Both ends of a latest-value slot (slot-layout.ts), for kernels that share its memory.
//
//   STATE   bits 0-1 middle | bit 2 FRESH | bits 3-4 back | bits 5-6 front
//
export const SLOT_STRIDE: usize = 8;
export const SLOT_STATE: usize = 128;
export const SLOT_WRITER_LIFE: usize = 256;
export const SLOT_BUFFERS: usize = 384;
export const SLOT_FRESH: i32 = 4;

@inline
function buffer(slot: usize, index: i32): usize {
  return slot + SLOT_BUFFERS + <usize>index * <usize>load<u32>(slot, SLOT_STRIDE);
}

/** Takes the latest value if there is one that was not taken yet, and answers where the reader's buffer is. */
@inline
export function takeSlot(slot: usize): usize {
  let state = atomic.load<i32>(slot, SLOT_STATE);
  while ((state & SLOT_FRESH) != 0) {
    const taken = ((state >> 5) & 3) | (state & 24) | ((state & 3) << 5);
    const seen = atomic.cmpxchg<i32>(slot, state, taken, SLOT_STATE);
    if (seen == state) return buffer(slot, state & 3);
    state = seen;
  }
  return buffer(slot, (state >> 5) & 3);
}

/** The buffer that the writer fills next. */
@inline
export function slotBack(slot: usize): usize {
  return buffer(slot, (atomic.load<i32>(slot, SLOT_STATE) >> 3) & 3);
}

@inline
export function publishSlot(slot: usize): void {
  let state = atomic.load<i32>(slot, SLOT_STATE);
  while (true) {
    const published = ((state >> 3) & 3) | SLOT_FRESH | ((state & 3) << 3) | (state & 96);
    const seen = atomic.cmpxchg<i32>(slot, state, published, SLOT_STATE);
    if (seen == state) return;
    state = seen;
  }
}
