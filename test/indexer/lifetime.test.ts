/** Resources of an indexer are closed in reverse order. If closing one fails, the others are still closed. */
import { expect, it } from 'vitest';
import { Lifetime } from '../../src/indexer/lifetime.ts';

it('Lifetime closes resources one at a time, in reverse order', async () => {
  const lifetime = new Lifetime();
  const events: string[] = [];
  for (const name of ['database', 'server', 'pipeline']) {
    lifetime.own(name, async (resource) => {
      events.push(`${resource} closes`);
      await Promise.resolve();
      events.push(`${resource} is closed`);
    });
  }
  await lifetime.close(1_000);
  expect(events).toEqual(['pipeline', 'server', 'database'].flatMap((name) => [`${name} closes`, `${name} is closed`]));
});

it('Lifetime closes the remaining resources when one fails, and rejects with the first failure', async () => {
  const lifetime = new Lifetime();
  const closedNames: string[] = [];
  lifetime.own('database', (resource) => void closedNames.push(resource));
  lifetime.own('server', () => {
    throw new Error('the server does not close');
  });
  lifetime.own('pipeline', () => Promise.reject(new Error('the pipeline does not end')));
  await expect(lifetime.close(1_000)).rejects.toThrow('the pipeline does not end');
  expect(closedNames).toEqual(['database']);
});

it('Lifetime closes each resource once, and passes it the remaining time', async () => {
  const lifetime = new Lifetime();
  const remainingTimes: number[] = [];
  lifetime.own('it', (_opened, remainingMs) => void remainingTimes.push(remainingMs));
  await lifetime.close(-1);
  await lifetime.close(1_000);
  expect(remainingTimes).toEqual([0]);
});
