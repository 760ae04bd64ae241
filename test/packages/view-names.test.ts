/** Names of the generated views. */
import { describe, expect, it } from 'vitest';
import { choiceViewName, historySuffix, interfaceViewName, templateViewName } from '../../src/packages/view-names.ts';

const none: ReadonlySet<string> = new Set();

describe('view names', () => {
  it('are made of package and template', () => {
    expect(templateViewName('splice-amulet', 'Splice.Amulet', 'LockedAmulet', none)).toBe(
      'splice_amulet__lockedamulet',
    );
    expect(interfaceViewName('splice-api-token-holding-v1', 'Splice.Api.Token.HoldingV1', 'Holding', none)).toBe(
      'splice_api_token_holding_v1__holding',
    );
    expect(choiceViewName('iou', 'Main', 'Iou', 'Transfer', none)).toBe('iou__iou__transfer');
  });

  it('name the module when another thing has the name', () => {
    const taken = new Set(['iou__iou', 'iou__iou__transfer']);
    expect(templateViewName('iou', 'Main.Two', 'Iou', taken)).toBe('iou__main_two__iou');
    expect(choiceViewName('iou', 'Main.Two', 'Iou', 'Transfer', taken)).toBe('iou__main_two__iou__transfer');
  });

  it('are still different where module and template are the same but for capitals', () => {
    const taken = new Set(['iou__iou', 'iou__main__iou']);
    const first = templateViewName('iou', 'Main', 'IOU', taken);
    expect(first).toMatch(/^iou__main__iou_+[0-9a-f]{6}$/);
    const second = templateViewName('iou', 'Main', 'IOu', new Set([...taken, first]));
    expect(second).not.toBe(first);
    expect(taken.has(second)).toBe(false);
  });

  it('fit into Postgres with room for the history', () => {
    const long = 'L'.repeat(80);
    const template = templateViewName('package', 'Main', long, none);
    expect(template + historySuffix).toHaveLength(63);
    expect(template).toMatch(/^package__l+_[0-9a-f]{6}$/);
    expect(templateViewName('package', 'Other', long, none)).not.toBe(template);
    expect(choiceViewName('package', 'Main', 'T', long, none)).toHaveLength(63);
  });

  it('never meet the history of another view', () => {
    expect(choiceViewName('iou', 'Main', 'Iou', 'History', new Set(['iou__iou']))).toBe('iou__main__iou__history');
    expect(templateViewName('iou', 'Main', 'Iou', new Set(['iou__iou__history']))).toBe('iou__main__iou');
  });

  it('are the same each time', () => {
    const taken = new Set(['a__b', 'a__m__b']);
    expect(templateViewName('a', 'M', 'B', taken)).toBe(templateViewName('a', 'M', 'B', taken));
  });
});
