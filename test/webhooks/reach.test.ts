/** The addresses and URLs that deliveries may be sent to, and the time of the next attempt. */
import { describe, expect, it } from 'vitest';
import { backoffMs, maxDelayMs } from '../../src/webhooks/back-off.ts';
import { retryAfter } from '../../src/webhooks/post.ts';
import { addressRefusalReason, urlRefusalReason } from '../../src/webhooks/reach.ts';

const publicAddresses = [
  '93.184.216.34',
  '2606:2800:220:1::1',
  '3fff:1000::1',
  '192.88.98.1',
  '172.15.0.1',
  '100.63.255.255',
  '192.167.255.255',
];
const privateAddresses = ['10.0.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', 'fd12::1', '::ffff:10.0.0.1'];
const loopbackAddresses = ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1'];
const neverReachable = [
  '0.0.0.0',
  '169.254.169.254',
  '::ffff:169.254.169.254',
  'fe80::1',
  'fd00:ec2::254',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '64:ff9b::a00:1',
  '2002:a00:1::',
  '::ffff:a00:1',
  '::a00:1',
  '100.100.100.200',
  '168.63.129.16',
  '192.88.99.1',
  '3fff::1',
  '3fff:fff:ffff::1',
  '5f00::1',
  '4000::1',
  'e000::1',
  'nonsense',
];

describe('addressRefusalReason()', () => {
  it.each([
    ['public', publicAddresses],
    ['private', [...publicAddresses, ...privateAddresses]],
    ['loopback', [...publicAddresses, ...privateAddresses, ...loopbackAddresses]],
  ] as const)('allows exactly the addresses of the networks "%s"', (webhookReach, allowedAddresses) => {
    const addresses = [...publicAddresses, ...privateAddresses, ...loopbackAddresses, ...neverReachable];
    expect(addresses.filter((address) => addressRefusalReason(address, webhookReach) === undefined)).toEqual(
      allowedAddresses,
    );
  });
});

describe('urlRefusalReason()', () => {
  it.each(['https://hooks.example.com/a?b=c', 'https://93.184.216.34:8443/', 'https://[2606:2800:220:1::1]/'])(
    'accepts %s',
    (url) => {
      expect(urlRefusalReason(url, 'public')).toBeUndefined();
    },
  );

  it.each([
    'http://127.0.0.1/',
    'https://10.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://[::ffff:7f00:1]/',
    'https://user:secret@hooks.example.com/',
    'https://hooks.example.com/#here',
    'ftp://hooks.example.com/',
    'hooks',
  ])('rejects %s', (url) => {
    expect(urlRefusalReason(url, 'public')).toBeTypeOf('string');
  });
});

describe('urlRefusalReason() for another machine', () => {
  it.each(['public', 'private', 'loopback'] as const)(
    'rejects URLs without TLS if the allowed networks are %s',
    (webhookReach) => {
      for (const url of [
        'http://hooks.example.com/',
        'http://93.184.216.34/',
        'http://10.0.0.1/',
        'http://127.example/',
      ])
        expect(urlRefusalReason(url, webhookReach)).toContain('not encrypted');
    },
  );
});

describe('webhook retry delay', () => {
  it('doubles up to a limit, has a random half, and is at least Retry-After', () => {
    expect([1, 2, 3].map((failures) => backoffMs(failures, undefined, 0))).toEqual([125, 250, 500]);
    expect(backoffMs(3, undefined, 1)).toBe(1_000);
    expect(backoffMs(1_000, undefined, 1)).toBe(maxDelayMs);
    expect(backoffMs(1, 60_000, 0)).toBe(60_000);
  });

  it('accepts Retry-After in seconds or as a date, up to one hour', () => {
    const now = Date.UTC(2026, 10, 25, 12);
    expect(retryAfter(undefined, now)).toBeUndefined();
    expect(retryAfter('soon', now)).toBeUndefined();
    expect(retryAfter('7', now)).toBe(7_000);
    expect(retryAfter('Wed, 25 Nov 2026 12:00:30 GMT', now)).toBe(30_000);
    expect(retryAfter('Wed, 25 Nov 2026 11:00:00 GMT', now)).toBe(0);
    expect(retryAfter('999999999', now)).toBe(3_600_000);
  });
});
