/** Reads JSON of the ledger for a table. Missing values and values of another type are empty. */
import { isObject, type JsonObject } from '../../ledger/frames/field.ts';

export function objectIn(value: unknown, key: string): JsonObject {
  const child = isObject(value) ? value[key] : undefined;
  return isObject(child) ? child : {};
}

/** A text, or a number as text; empty for any other value. */
export function textIn(value: unknown, key: string): string {
  const child = isObject(value) ? value[key] : undefined;
  return typeof child === 'string' || typeof child === 'number' ? String(child) : '';
}

export function arrayIn(value: unknown, key: string): readonly unknown[] {
  const child = isObject(value) ? value[key] : undefined;
  return Array.isArray(child) ? (child as readonly unknown[]) : [];
}

export function textsIn(value: unknown, key: string): readonly string[] {
  return arrayIn(value, key).filter((entry) => typeof entry === 'string');
}

/** The template of an event as `#package-name:Module:Entity`, so that users can copy it to `--template`. */
export function templateName(event: JsonObject): string {
  const packageName = textIn(event, 'packageName');
  const [packageId = '', ...path] = textIn(event, 'templateId').split(':');
  return `${packageName === '' ? `${packageId.slice(0, 8)}…` : `#${packageName}`}:${path.join(':')}`;
}
