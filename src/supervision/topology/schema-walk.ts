import { z } from 'zod';

/** A schema without its defaults and its optionality, and what those said. */
export interface Unwrapped {
  readonly schema: z.core.$ZodType;
  readonly optional: boolean;
  /** The default as it would be written in the file; undefined where there is none. */
  readonly written: unknown;
}

export function unwrap(outer: z.core.$ZodType): Unwrapped {
  let schema = outer;
  let optional = false;
  let written: unknown;
  for (;;) {
    if (schema instanceof z.ZodPrefault) written = schema.def.defaultValue;
    else if (schema instanceof z.ZodOptional) optional = true;
    else return { schema, optional, written };
    schema = schema.def.innerType;
  }
}

/** The schema of one key (or one element) below a schema; undefined where the key is unknown. */
export function childOf(outer: z.core.$ZodType, step: string | number): z.core.$ZodType | undefined {
  const { schema } = unwrap(outer);
  if (schema instanceof z.ZodObject) {
    return Object.hasOwn(schema.shape, step) ? (schema.shape as z.core.$ZodLooseShape)[step] : undefined;
  }
  if (schema instanceof z.ZodRecord) return schema.def.valueType;
  if (schema instanceof z.ZodArray) return schema.def.element;
  return undefined;
}

export function schemaAt(outer: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType | undefined {
  let schema: z.core.$ZodType | undefined = outer;
  for (const step of path) schema = schema === undefined ? undefined : childOf(schema, step as string | number);
  return schema;
}

/** The keys that a section knows. */
export function knownKeys(outer: z.core.$ZodType | undefined): readonly string[] {
  if (outer === undefined) return [];
  const { schema } = unwrap(outer);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** The values that a choice takes. */
export function knownValues(outer: z.core.$ZodType | undefined): readonly string[] {
  if (outer === undefined) return [];
  const { schema } = unwrap(outer);
  return schema instanceof z.ZodEnum ? Object.values(schema.def.entries).map(String) : [];
}
