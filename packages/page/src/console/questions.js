/** Requests of the query page. */
import { requestToken, whoAsks } from './token.js';

/** @typedef {import('ledger-indexer/page').ConsoleFailure} ConsoleFailure */

/**
 * @template Found
 * @typedef {{ readonly found?: Found, readonly failure?: string }} Posted
 */

/**
 * Sends a request. Resolves to the result, or to a failure as text; to neither if it was cancelled.
 * @param {string} path
 * @param {unknown} question
 * @param {AbortSignal} [signal]
 */
export async function post(path, question, signal) {
  try {
    const response = await send(path, question, signal);
    const body = await response.json();
    return response.ok ? { found: body } : { failure: inWords(body) };
  } catch {
    return signal?.aborted ? {} : { failure: 'The indexer does not respond.' };
  }
}

/** @param {string} path @param {unknown} question @param {AbortSignal} [signal] */
export async function send(path, question, signal) {
  const body = JSON.stringify(question);
  /** @type {RequestInit} */
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...whoAsks() },
    body,
    cache: 'no-store',
  };
  const response = await fetch(path, signal === undefined ? request : { ...request, signal });
  if (response.status === 401) requestToken();
  return response;
}

/** @param {ConsoleFailure} failure */
export function inWords({ error, remedy = '' }) {
  return remedy === '' ? error : `${error}\nWhat to do: ${remedy}.`;
}
