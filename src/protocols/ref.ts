/**
 * What became of a message at the moment it was told. Overflow is a value that the sender can act on, not a surprise.
 *
 * - `accepted`: it is in the mailbox.
 * - `pause`: it is in the mailbox, and the sender should stop until the mailbox says go on (back-pressure policy).
 * - `conflated`: it took the place of a waiting message with the same key.
 * - `dropped-oldest`: it is in the mailbox, and the oldest waiting message was dropped for it.
 * - `dropped-newest`: the mailbox is full and this message was dropped.
 * - `rejected`: the mailbox is full and the message stays with the sender.
 * - `dead`: the actor is gone; the message became a dead letter.
 */
export type Admission = 'accepted' | 'pause' | 'conflated' | 'dropped-oldest' | 'dropped-newest' | 'rejected' | 'dead';

/** True when the message will be handled unless the actor dies first. */
export function isAdmitted(admission: Admission): boolean {
  return admission !== 'rejected' && admission !== 'dropped-newest' && admission !== 'dead';
}

/**
 * The address of an actor that understands M. `in` makes it contravariant: a Ref<A | B> serves where a Ref<A> is asked
 * for, never the other way round.
 */
export interface Ref<in M> {
  readonly path: string;
  tell(message: M): Admission;
}
