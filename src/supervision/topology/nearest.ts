/** Names longer than this are not worth comparing; it also bounds the work on hostile input. */
const LENGTH_MAX = 64;

/** Insertions, deletions, substitutions and swaps of neighbours that lead from one word to the other. */
export function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const current = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      let best = Math.min(previous[j]! + 1, current[j - 1]! + 1, previous[j - 1]! + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (swapped) best = Math.min(best, beforePrevious[j - 2]! + 1);
      current.push(best);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length]!;
}

/** The known word that was probably meant: at most a third of it wrong, the nearest one, the first among equals. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > LENGTH_MAX) return undefined;
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance && distance <= Math.max(1, Math.floor(candidate.length / 3))) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const meant = nearest(word, known);
  return meant === undefined ? undefined : `did you mean \`${meant}\`?`;
}
