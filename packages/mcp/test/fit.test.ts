/** Answers are shortened to a size, and say what they leave out. Every value that is left is unchanged. */
import { describe, expect, it } from 'vitest';
import { fit } from '../src/tools/fit.ts';
import { notice, resultOf, visibleJson } from '../src/tools/result.ts';

const size = (value: unknown): number => Buffer.byteLength(visibleJson(value));

describe('fit', () => {
  it('leaves a small answer as it is', () => {
    const data = { rows: [{ a: 1 }], next: null };
    expect(fit(data, 100)).toEqual({ data });
  });

  it('removes the last rows of the longest list', () => {
    const rows = Array.from({ length: 100 }, (_, index) => ({ index, text: 'x'.repeat(50) }));
    const data = { events: { rows }, transfers: { rows: rows.slice(0, 3) } };
    const { data: fitted, truncated } = fit(data, 3_000);
    expect(size(fitted)).toBeLessThanOrEqual(3_000);
    const kept = (fitted['events'] as { readonly rows: readonly object[] }).rows;
    expect(kept).toEqual(rows.slice(0, kept.length));
    expect(kept.length).toBeGreaterThan(30);
    expect(fitted['transfers']).toEqual({ rows: rows.slice(0, 3) });
    expect(truncated).toContain(`events.rows has the first ${String(kept.length)} of 100 rows.`);
    expect(data.events.rows).toHaveLength(100);
  });

  it('replaces the largest values of a single row by null, and names them', () => {
    const data = { rows: [{ id: 'a', payload: { text: 'x'.repeat(9_000) }, key: 'y'.repeat(500) }] };
    const { data: fitted, truncated } = fit(data, 1_000);
    expect(fitted).toEqual({ rows: [{ id: 'a', payload: null, key: 'y'.repeat(500) }] });
    expect(truncated).toContain('rows[0].payload (9011 bytes)');
  });

  it('shortens rows that are lists, and fields without rows', () => {
    const { data: rows } = fit({ columns: ['a', 'b'], rows: [['1', 'x'.repeat(5_000)]] }, 1_000);
    expect(rows).toEqual({ columns: ['a', 'b'], rows: [['1', null]] });
    const { data: fields, truncated } = fit({ kind: 'update', summary: { text: 'x'.repeat(5_000) } }, 1_000);
    expect(fields).toEqual({ kind: 'update', summary: null });
    expect(truncated).toContain('summary (');
  });

  it('counts the escapes of hidden characters', () => {
    const hidden = '\u{e0041}'.repeat(1_000);
    const rows = Array.from({ length: 10 }, () => [hidden]);
    const { data } = fit({ rows }, 50_000);
    expect(size(data)).toBeLessThanOrEqual(50_000);
    expect(data['rows']).toHaveLength(4);
  });
});

describe('results', () => {
  it('have hidden characters as escapes, and parse to the same value', () => {
    const text = '\u0000\u001b[2J\u009b\u00ad\u200b\u202e\u2028\ufeff\u{e0041}\ud800 ä 😀"}';
    const { content, structuredContent } = resultOf({ data: { text } });
    const [{ text: written } = { text: '' }] = content;
    expect(written).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}]/u);
    expect(written).toContain(String.raw`\u202e\u2028\ufeff\udb40\udc41`);
    expect(written).toContain('ä 😀');
    expect(JSON.parse(written)).toEqual(structuredContent);
    expect(structuredContent).toEqual({ notice, complete: true, data: { text } });
  });
});
