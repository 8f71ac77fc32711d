/**
 * What carries cells: a tree of named places, each of which can be woken. The runtime's own mailboxes hold the messages;
 * a host carries at most one wake token for each cell and calls `step` once for it.
 */
export interface Host {
  /** Makes a place below `parent` (or at the top) and binds it to `step`, which never rejects. */
  place(parent: Place | undefined, name: string, step: () => void | Promise<void>): Place;
  /** Ends the host. All places must have been removed before. */
  close(): void;
}

export interface Place {
  /** Asks for one call of `step`, later and never from inside this call. */
  wake(): void;
  /** Removes the place. A wake that is still on its way is lost. */
  remove(): void;
}
