import { describe, expect, it } from 'vitest';
import type { ApiRoute } from '../../../src/model/push/read-api.ts';
import { matchRoute } from '../../../src/observe/api/api-routes.ts';
import { checkParameters } from '../../../src/observe/api/parameters.ts';

const route: ApiRoute = {
  name: 'things',
  path: '/api/things/{thing_id}',
  summary: 'Things',
  description: 'Things.',
  answers: 'rows',
  columns: {},
  parameters: [
    { name: 'thing_id', kind: 'text', inPath: true, required: true, description: '' },
    { name: 'party', kind: 'party', description: '' },
    { name: 'template', kind: 'name', description: '' },
    { name: 'at', kind: 'position', description: '', excludes: ['key'] },
    { name: 'key', kind: 'text', description: '' },
    { name: 'state', kind: 'choice', values: ['active', 'all'], fallback: 'active', description: '' },
    { name: 'limit', kind: 'integer', range: [1, 1000], fallback: 100, description: '' },
    { name: 'open', kind: 'boolean', description: '' },
    { name: 'where', kind: 'filter', description: '' },
  ],
};

function check(path: string) {
  const [before = '', query = ''] = path.split('?', 2);
  const matched = matchRoute([route], before);
  if (matched === undefined) return 'no route';
  const checked = checkParameters(matched.route, matched.inPath, new URLSearchParams(query));
  return typeof checked['detail'] === 'string' ? checked['detail'] : checked;
}

describe('checkParameters()', () => {
  it('reads values of every kind, and adds the values of missing parameters', () => {
    const query = 'party=alice::12ab&template=%23pkg:M.N:T&at=2026-01-31T00:00:00%2B01:00&state=all&limit=7&open=false';
    expect(check(`/api/things/a%2Fb?${query}&at_least_offset=42`)).toEqual({
      thing_id: 'a/b',
      party: 'alice::12ab',
      template: '#pkg:M.N:T',
      at: { time: '2026-01-31T00:00:00+01:00' },
      state: 'all',
      limit: 7,
      open: false,
      at_least_offset: 42,
      timeout: 10,
    });
    expect(check('/api/things/x?at=17')).toEqual({
      thing_id: 'x',
      at: { offset: 17 },
      state: 'active',
      limit: 100,
      timeout: 10,
    });
  });

  it.each([
    ['/api/things/x?parti=a', 'unknown parameter "parti"; known: party, template'],
    ['/api/things/x?thing_id=y', 'unknown parameter "thing_id"'],
    ['/api/things/x?limit=1&limit=2', 'limit is given more than once'],
    ['/api/things/x?at=1&key=a', 'at and key cannot be combined'],
    ['/api/things/x?party=alice', 'party: expected a complete party id'],
    ["/api/things/x?template=a'b", 'template: expected a name such as'],
    ['/api/things/x?at=2026-02-30T00:00:00Z', 'at: expected an offset, or a time with its zone'],
    ['/api/things/x?at=2026-01-31', 'at: expected an offset, or a time with its zone'],
    ['/api/things/x?at=9007199254740992', 'at: expected an offset'],
    ['/api/things/x?at=-1', 'at: expected an offset'],
    ['/api/things/x?state=old', 'state: expected one of active, all'],
    ['/api/things/x?limit=0', 'limit: expected an integer between 1 and 1000'],
    ['/api/things/x?limit=1e3', 'limit: expected an integer between 1 and 1000'],
    ['/api/things/x?open=yes', 'open: expected true or false'],
    ['/api/things/x?timeout=61', 'timeout: expected an integer between 0 and 60'],
    ['/api/things/x?key=', 'key must have 1 to 1000 characters'],
    ['/api/things/x?key=a%00b', 'no character U+0000'],
    [`/api/things/x?key=${'a'.repeat(1001)}`, 'key must have 1 to 1000 characters'],
    [`/api/things/x?where=${'a'.repeat(2001)}`, 'where must have 1 to 2000 characters'],
    ['/api/things/%00', 'thing_id must have 1 to 1000 characters'],
  ])('refuses %s', (path, detail) => {
    expect(check(path)).toContain(detail);
  });

  it.each(['/api/things', '/api/things/a/b', '/api/things/%E0%A4%A', '/api/other/x'])('has no route for %s', (path) => {
    expect(check(path)).toBe('no route');
  });

  it('refuses an empty value in the path', () => {
    expect(check('/api/things/')).toContain('thing_id must have 1 to 1000 characters');
  });
});
