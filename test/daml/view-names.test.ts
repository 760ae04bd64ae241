/** Names of the generated views. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { historySuffix, viewName } from '../../src/daml/view-names.ts';
import { expectProperty } from '../support/chance/property.ts';

const emptySet: ReadonlySet<string> = new Set();

/** Name of the view of a template or interface, or of one of its choices. */
function nameOf(packageName: string, template: string, choice = '', usedNames: Iterable<string> = emptySet): string {
  const [moduleName = '', entityName = ''] = template.split(':');
  return viewName({ packageName, moduleName, entityName, choice }, new Set(usedNames));
}

describe('viewName()', () => {
  it.each([
    ['splice-amulet', 'Splice.Amulet:LockedAmulet', '', 'splice_amulet__locked_amulet'],
    [
      'splice-amulet',
      'Splice.AmuletRules:AmuletRules',
      'AmuletRules_Transfer',
      'splice_amulet__amulet_rules__transfer',
    ],
    ['splice-api-token-holding-v1', 'Splice.Api.Token.HoldingV1:Holding', '', 'token_holding_v1__holding'],
    [
      'splice-api-token-transfer-instruction-v1',
      'Splice.Api.Token.TransferInstructionV1:TransferInstruction',
      'TransferInstruction_Accept',
      'transfer_instruction_v1__transfer_instruction__accept',
    ],
    ['splice-token-test-trading-app', 'Splice.Testing.Apps.TradingApp:OTCTrade', '', 'trading_app__otc_trade'],
    ['iou', 'Main:Iou', 'Transfer', 'iou__iou__transfer'],
    ['MyHTTPServer', 'Main:HTTPServer', '', 'http_server__http_server'],
    ['model-1-0-0', 'Main:X509Cert', '', 'model_1_0_0__x509_cert'],
    ['2048-game', 'Main:Board', '', '_2048_game__board'],
    ["o'clock", "Main:Foo'", "It's_Ok", 'o_clock__foo__it_s_ok'],
    ['漢', 'Main:字', '', 'x__x'],
  ])('maps %s, %s %s to %s', (packageName, template, choice, name) => {
    expect(nameOf(packageName, template, choice)).toBe(name);
  });

  it('resolves conflicts with the full choice name, the package or the module', () => {
    expect(nameOf('app', 'Main:Trade', 'Trade_Settle', ['app__trade__settle'])).toBe('app__trade__trade_settle');
    const shortName = nameOf('acme-wallet-payments', 'Main:Request');
    expect(shortName).toBe('wallet_payments__request');
    expect(nameOf('splice-wallet-payments', 'Main:Request', '', [shortName])).toBe('splice_wallet_payments__request');
    expect(nameOf('iou', 'Main.Two:Iou', '', ['iou__iou'])).toBe('iou__main_two__iou');
    expect(nameOf('iou', 'Main.Two:Iou', 'Transfer', ['iou__iou__transfer'])).toBe('iou__main_two__iou__transfer');
  });

  it('adds a hash to names that differ only in capitals and special characters', () => {
    const usedNames = ['iou__iou', 'iou__main__iou'];
    const first = nameOf('iou', 'Main:IOU', '', usedNames);
    expect(first).toMatch(/^iou__main__iou_[0-9a-f]{6}$/);
    const second = nameOf('iou', "Main:Iou'", '', [...usedNames, first]);
    expect(second).toMatch(/^iou__main__iou_[0-9a-f]{6}$/);
    expect(second).not.toBe(first);
  });

  it('shortens a long name by words of the package and module, then by letters', () => {
    const [entity, choice] = ['AnEntityWithAFairlyLongNameIndeed', 'Choose'];
    expect(nameOf('very-long-words-of-a-packagename-alltogether', `Main:${entity}`, choice)).toBe(
      'alltogether__an_entity_with_a_fairly_long_name_indeed__choose',
    );
    const action = 'AuthorizeAllocationInstructionAction';
    expect(nameOf('splice-test-token-v2', 'Splice.Testing.TokenV2:AccountConfig', action)).toBe(
      'v2__account_config__authorize_allocation_instruction_action',
    );
    const longName = 'L'.repeat(80);
    expect(nameOf('my-package', `Main:${longName}`) + historySuffix).toBe(`package__${'l'.repeat(45)}${historySuffix}`);
    expect(nameOf('package', 'Main:T', longName)).toBe(`package__t__${'l'.repeat(51)}`);
    const truncatedName = nameOf('package', 'Main:T', longName, [`package__t__${'l'.repeat(51)}`]);
    expect(truncatedName).toBe(`package__main__t__${'l'.repeat(45)}`);
  });

  it('avoids the names of history views', () => {
    expect(nameOf('iou', 'Main:Iou', 'History', ['iou__iou'])).toBe('iou__main__iou__history');
    expect(nameOf('iou', 'Main:Iou', '', ['iou__iou__history'])).toBe('iou__main__iou');
  });

  it('returns unique identifiers of at most 63 characters for arbitrary input', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 90 });
    const similarName = fc.constantFrom('A', 'a', 'A_', 'A_B', 'a__b', 'History', 'A_History', 'L'.repeat(70));
    const namePart = fc.oneof(name, similarName);
    const nameArbitrary = fc.array(fc.tuple(namePart, namePart, namePart, fc.oneof(namePart, fc.constant(''))), {
      maxLength: 20,
    });
    expectProperty(
      fc.property(nameArbitrary, (names) => {
        const usedNames = new Set<string>();
        const seenNames = new Set<string>();
        for (const [packageName, moduleName, entityName, choice] of names) {
          const generatedName = viewName({ packageName, moduleName, entityName, choice }, usedNames);
          expect(viewName({ packageName, moduleName, entityName, choice }, usedNames)).toBe(generatedName);
          usedNames.add(generatedName);
          for (const candidateName of choice === ''
            ? [generatedName, generatedName + historySuffix]
            : [generatedName]) {
            expect(candidateName).toMatch(/^[a-z_][a-z0-9_]{0,62}$/);
            expect(seenNames.has(candidateName)).toBe(false);
            seenNames.add(candidateName);
          }
        }
      }),
    );
  });
});
