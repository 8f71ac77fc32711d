export type JsonObject = Readonly<Record<string, unknown>>;

/** Parses a control frame; anything that is not a JSON object is undefined. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asStrings(value: unknown): readonly string[] {
  return asArray(value).filter((item) => typeof item === 'string');
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function asInteger(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}
