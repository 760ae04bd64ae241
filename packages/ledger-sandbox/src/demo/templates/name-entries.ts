/** Names of users in the name service. An entry ends at its time unless it is renewed. */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asText, textAt } from '../../wire/json.ts';
import type { Template } from '../../contracts/model.ts';
import { formatTimestamp } from '../../wire/values.ts';
import { microsOf } from './amulet-changes.ts';
import { names } from './names.ts';

/** The template of names. */
export const nameEntry: Template = {
  name: names.nameEntry,
  signatories: (payload) => [asText(payload['user']), asText(payload['dso'])],
  observers: () => [],
  interfaces: [],
  choices: {
    AnsEntry_Expire: {
      consuming: true,
      controllers: (_, argument) => [asText(argument['actor'])],
      run: ({ contract: { createArgument: payload }, time }) => {
        if (microsOf(time) <= microsOf(asText(payload['expiresAt']))) throw assertionFailed('the name has not expired');
        return {};
      },
    },
    AnsEntry_Renew: {
      consuming: true,
      controllers: (payload) => [asText(payload['user']), asText(payload['dso'])],
      run: ({ contract: { createArgument: payload }, argument, create }) => {
        const extension = Number(textAt(argument, 'extension', 'microseconds'));
        const expiresAt = formatTimestamp(microsOf(asText(payload['expiresAt'])) + extension);
        return { entryCid: create(names.nameEntry, { ...payload, expiresAt }) };
      },
    },
  },
};
