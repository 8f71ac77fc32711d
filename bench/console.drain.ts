/** Reads a live stream to its end, which the signal brings. */
export async function drain(url: string, signal: AbortSignal, onBytes: (length: number) => void): Promise<void> {
  try {
    const answer = await fetch(url, { signal });
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) onBytes(chunk.length);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
