// Which symbol a stream, channel or product name stands for: an open-addressing table from name to route.
import { allocate } from './state';

//   entry   0 hash u32 (0: free) | 4 route u32 | 8 decimals u32 | 12 length u32 | 16 name, 64 bytes, zero-padded
const ENTRY_BYTES: u32 = 80;
const NAME: usize = 16;
export const NAME_BYTES_MAX: u32 = 64;
export const NO_ROUTE: u32 = 0xffffffff;

let entries: usize = 0;
let mask: u32 = 0;

/** The entry that `findRoute` found last. */
export let routeDecimals: u32 = 8;

/** Room for `capacity` names, a power of two; old entries are forgotten. */
export function allocateRoutes(capacity: u32): void {
  entries = allocate(capacity * ENTRY_BYTES);
  mask = capacity - 1;
}

/** Eight bytes at a time; the bytes behind the name are masked away, not read as part of it. */
@inline
function wordOf(at: usize, left: u32): u64 {
  return left >= 8 ? load<u64>(at) : load<u64>(at) & ((<u64>1 << (left << 3)) - 1);
}

@inline
function hashOf(name: usize, length: u32): u32 {
  let hash: u64 = length;
  for (let done: u32 = 0; done < length; done += 8) {
    hash = (hash ^ wordOf(name + done, length - done)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return <u32>hash | 1;
}

@inline
function isName(entry: usize, hash: u32, name: usize, length: u32): bool {
  if (load<u32>(entry) != hash || load<u32>(entry, 12) != length) return false;
  for (let done: u32 = 0; done < length; done += 8)
    if (load<u64>(entry + done, NAME) != wordOf(name + done, length - done)) return false;
  return true;
}

/** Adds or changes a name; false when the table is full or the name too long. */
export function putRoute(name: usize, length: u32, route: u32, decimals: u32): bool {
  if (length == 0 || length > NAME_BYTES_MAX) return false;
  const hash = hashOf(name, length);
  for (let probe: u32 = 0; probe <= mask; probe++) {
    const entry = entries + ((hash + probe) & mask) * ENTRY_BYTES;
    const free = load<u32>(entry) == 0;
    if (!free && !isName(entry, hash, name, length)) continue;
    store<u32>(entry, hash);
    store<u32>(entry, route, 4);
    store<u32>(entry, decimals, 8);
    store<u32>(entry, length, 12);
    if (free) memory.copy(entry + NAME, name, length);
    return true;
  }
  return false;
}

/** The route of a name and, in `routeDecimals`, its scale; NO_ROUTE when it is not known. */
export function findRoute(name: usize, length: u32): u32 {
  if (length == 0 || length > NAME_BYTES_MAX) return NO_ROUTE;
  const hash = hashOf(name, length);
  for (let probe: u32 = 0; probe <= mask; probe++) {
    const entry = entries + ((hash + probe) & mask) * ENTRY_BYTES;
    if (load<u32>(entry) == 0) return NO_ROUTE;
    if (!isName(entry, hash, name, length)) continue;
    routeDecimals = load<u32>(entry, 8);
    return load<u32>(entry, 4);
  }
  return NO_ROUTE;
}
