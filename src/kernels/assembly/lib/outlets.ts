// A whole book on its way into the slot that the merger takes it from, through functions of the kernel that has the merger's
// memory. Between two frames others use the caches, and what JavaScript touches to do the same (objects, boxed numbers, built-in
// functions) has to be fetched again each time: that took longer than decoding. So the host only says beforehand which books may
// go, and notes afterwards which did.
import { BOOK_LEVELS, allocate, book, depth } from './state';

/** Where the writer's next book of a symbol goes; 0 when another writer has the symbol now. */
@external('books', 'openPlace')
declare function openPlace(venue: u32, symbol: u32, life: u32): usize;
@external('books', 'putRow')
declare function putRow(at: usize, a: u64, b: u64, c: u64, d: u64): void;
/** The book in the place that was opened last is the symbol's latest, and counts until the given millisecond. */
@external('books', 'publishBook')
declare function publishBook(venue: u32, symbol: u32, deadline: u32): void;

//   outlet   0 above u64 (0: closed) | 8 venue u32 | 12 symbol u32 | 16 life u32 | 24 patience in ms f64
const OUTLET_BYTES: u32 = 32;
const ROW_BYTES: usize = 32;

/** Beyond it the host, which has numbers as doubles, cannot tell one from the next. */
const EXACT_BELOW: f64 = 9007199254740992;

let outlets: usize = 0;
let outletCount: u32 = 0;

export function allocateOutlets(routes: u32): void {
  outlets = allocate(routes * OUTLET_BYTES);
  outletCount = routes;
}

/** From now on books of the route with a number above `after` are sent as soon as they are read. */
export function openOutlet(route: u32, venue: u32, symbol: u32, life: u32, after: f64, patienceMs: f64): void {
  if (route >= outletCount) return;
  const outlet = outlets + route * OUTLET_BYTES;
  store<u64>(outlet, after < EXACT_BELOW ? <u64>after + 1 : 0);
  store<u32>(outlet, venue, 8);
  store<u32>(outlet, symbol, 12);
  store<u32>(outlet, life, 16);
  store<f64>(outlet, patienceMs, 24);
}

export function closeOutlets(): void {
  memory.fill(outlets, 0, outletCount * OUTLET_BYTES);
}

/** Sends the book record if it is newer than all that went before; false leaves it to the host. */
export function sendBook(route: u32, sequence: u64, receivedNs: f64, asks: u32): bool {
  if (route >= outletCount) return false;
  const outlet = outlets + route * OUTLET_BYTES;
  const above = load<u64>(outlet);
  if (above == 0 || sequence < above) return false;
  const venue = load<u32>(outlet, 8);
  const symbol = load<u32>(outlet, 12);
  const place = openPlace(venue, symbol, load<u32>(outlet, 16));
  if (place == 0) return false;
  // Up to the last ask; a record is whole rows, so that what comes with it is still the record's.
  const bytes = BOOK_LEVELS + ((<usize>(depth + asks)) << 4);
  for (let at: usize = 0; at < bytes; at += ROW_BYTES) {
    const row = book + at;
    putRow(place + at, load<u64>(row), load<u64>(row, 8), load<u64>(row, 16), load<u64>(row, 24));
  }
  publishBook(venue, symbol, deadlineOf(receivedNs / 1000000 + load<f64>(outlet, 24)));
  store<u64>(outlet, sequence + 1);
  return true;
}

/** As deadlineWord of merge-layout.ts: 0 and 1 mean out and always. */
@inline
function deadlineOf(milliseconds: f64): u32 {
  const word = <u32>(<u64>milliseconds);
  return word < 2 ? 2 : word;
}
