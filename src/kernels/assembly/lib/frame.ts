// Every decode call begins here.
import { beginOutcome } from './outcome';
import { beginChanges } from './sides';
import { openFrame } from './state';

/** False when the frame is longer than its buffer: it was not copied. */
@inline
export function beginFrame(length: u32): bool {
  beginOutcome();
  beginChanges();
  return openFrame(length);
}
