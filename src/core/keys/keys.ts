// Issues, lists, rotates, revokes and verifies API keys. A key belongs to one organisation, and only its SHA-256 is
// stored. Other programs may write to the database too, so a stored key that does not match its schema is refused.
import { Value, type ValueError } from '@sinclair/typebox/value'
import { LRUCache } from 'lru-cache'
import { ownText } from '../bson/values.js'
import { type ApiKeyDocument, collections, type OrganisationDocument } from '../documents/collections.js'
import { type FairScheduler, SMALL } from '../limits/scheduler.js'
import type { Scope } from '../pipelines/stages.js'
import type { Store } from '../store/store.js'
import { rangesOf } from '../validation/addresses.js'
import { hashOf, keyIdOf, makeKey, markOf, type RandomInteger } from './format.js'

/** How long a stored key is known without a query. */
const KNOWN_MS = 25_000
/** How long after a revocation a request may begin to read: it may wait behind KNOWN_MS. */
export const REVOKED_MS = 30_000
/** The cache of keys. What is looked up takes no room, so unknown ids displace none. With `max` it would take 3 ms to make. */
const CACHE = { maxSize: 10_000, sizeCalculation: () => 1, backgroundFetchSize: 0 }
/** How long a key counts as in use after it was used. */
const IN_USE_MS = 3_600_000
const LAST_USED_MS = 60_000
/** Fields that other programs added are allowed. */
export const STORED_KEY = { ...collections.apiKeys.schema, additionalProperties: true }

export interface KeyScope extends Scope {
  readonly organisationName: string
  readonly keyId: string
  readonly keyName: string
  readonly expiresAt: Date | undefined
}

/** Why a key is refused. A stored key that does not match its schema is unknown. */
export const REFUSALS = ['malformed', 'unknown', 'organisation_gone', 'revoked', 'expired', 'wrong_address'] as const

/** A key that is refused. Its id and its organisation are known only if it was valid once. */
export interface RefusedKey {
  readonly refused: (typeof REFUSALS)[number]
  readonly keyId?: string
  readonly organisation?: string
}

interface FoundKey {
  /** Undefined if it does not match its schema. */
  readonly document: ApiKeyDocument | undefined
  readonly organisation: OrganisationDocument | undefined
  /** Whether it may be used from an address. Undefined if it may from all. */
  readonly isFrom: ((address: string) => boolean) | undefined
  readonly until: number
}

/** A key as it is stored. It need not match its schema. */
export interface StoredKey {
  readonly document: Readonly<Record<string, unknown>>
  /** The field that does not match the schema, and why. A key with an error is refused. */
  readonly error: string | undefined
}

interface NewKey extends Pick<Scope, 'without' | 'only'> {
  readonly organisation: string
  readonly name: string
  readonly expiresAt?: Date | undefined
  readonly issuedBy?: string | undefined
  readonly from?: readonly string[] | undefined
}

export type Keys = ReturnType<typeof keysOf>

/** A key does not match its schema. The message names the field, but does not show its value. */
const invalidKey = (keyId: string, error: string): Error => new Error(`Key ${keyId} is invalid: ${error}`)

/** No key was issued, because of what another command did. */
export class NotIssued extends Error {}

interface KeysOptions {
  /** Gives each look-up its turn. In commands there is none, and nobody waits. */
  readonly scheduler?: FairScheduler
  readonly now?: () => number
  /** A clock in milliseconds that nobody can set: otherwise a revoked key would be known for longer. */
  readonly elapsed?: () => number
}

/** @param onError is told of a stored key that is invalid, and of a last use that could not be written */
export const keysOf = (
  store: Store,
  onError: (error: unknown, what: string) => void,
  { scheduler, now = Date.now, elapsed = () => performance.now() }: KeysOptions = {},
) => {
  const lookUp = async (keyId: string): Promise<FoundKey | undefined> => {
    const until = elapsed() + KNOWN_MS
    const document = await store.dangerouslyFind('apiKeys', keyId)
    if (document === undefined) return undefined
    const error = errorIn(document)
    if (error !== undefined) {
      onError(invalidKey(keyId, error), 'a stored key is invalid and is refused')
      return { document: undefined, organisation: undefined, isFrom: undefined, until }
    }
    const organisation = await store.dangerouslyFind('organisations', document.organisation)
    return { document, organisation, isFrom: document.from && rangesOf(document.from), until }
  }
  const known = new LRUCache<string, FoundKey>({ ...CACHE, noDeleteOnFetchRejection: true, fetchMethod: lookUp })

  const find = async (keyId: string, address: string): Promise<FoundKey | undefined> => {
    const found = known.get(keyId)
    if (found !== undefined) return known.fetch(keyId, { forceRefresh: found.until <= elapsed() })
    // A flood of ids waits by address, so that it can neither use up all connections nor keep others from looking up theirs.
    // An address may be a part of a long header, which the scheduler would keep with it.
    const ticket = await scheduler?.start(ownText(`address ${address}`), SMALL)
    return known.fetch(keyId).finally(() => ticket?.stop())
  }

  /** Writes the last use of a key, at most once a minute. No request waits for this. */
  const recordUse = (document: ApiKeyDocument): void => {
    const time = now()
    if (time - (document.lastUsedAt?.getTime() ?? 0) < LAST_USED_MS) return
    document.lastUsedAt = new Date(time)
    store
      .update('apiKeys', document._id, { lastUsedAt: document.lastUsedAt })
      .catch((error) => onError(error, 'the last use of a key was not written'))
  }

  /**
   * Issues a key, which is shown once, and returns it with what is stored of it.
   * @param randomInteger only for the demo, whose keys are always the same
   */
  const issueStored = async (
    { organisation, name, expiresAt, issuedBy, without, only, from }: NewKey,
    randomInteger?: RandomInteger,
  ) => {
    const key = makeKey(randomInteger)
    // Cursors and entity tags depend on the order.
    const lists = Object.entries(only ?? {}).map(([kind, ids]) => [kind, ids.toSorted()])
    const sorted = Object.fromEntries(lists.sort())
    const restrictions = { ...(only && { only: sorted }), ...(from && { from: from.toSorted() }) }
    const document: ApiKeyDocument = {
      _id: keyIdOf(key) as string,
      organisation,
      name,
      hash: hashOf(key, restrictions),
      createdAt: new Date(now()),
      ...(expiresAt && { expiresAt }),
      ...(issuedBy !== undefined && { issuedBy }),
      ...(without && { without: [...without] }),
      ...restrictions,
    }
    const error = errorIn(document)
    if (error !== undefined) throw invalidKey(document._id, error)
    await store.insert('apiKeys', [document])
    return { key, document }
  }

  const findStored = async (keyId: string): Promise<StoredKey | undefined> => {
    const [document] = await store.dangerouslyFindAll('apiKeys', { _id: keyId }, 1)
    return document && { document, error: errorIn(document) }
  }

  return {
    issueStored,

    issue: async (...of: Parameters<typeof issueStored>): Promise<string> => (await issueStored(...of)).key,

    /** Lists the keys of an organisation, or of all, in the order in which they were issued. */
    async list(organisation?: string): Promise<StoredKey[]> {
      const found = await store.dangerouslyFindAll('apiKeys', organisation === undefined ? {} : { organisation })
      found.sort((a, b) => timeOf(a.createdAt) - timeOf(b.createdAt))
      return found.map((document) => ({ document, error: errorIn(document) }))
    },

    find: findStored,

    /**
     * Issues a key in place of another, with its organisation, its name, its view and its restrictions. The old key ends
     * after `overlapMs`, or when it was to end anyway. The new key is stored first, so that no old key ends early without a
     * successor. If this is interrupted, the new key is lost, but the old one can be rotated again, or its successor can.
     * @param lifetimeMs how long the new key lives; by default as long as the old key was to live
     * @returns the new key, and when the old key ends
     * @throws NotIssued if the old key was rotated or revoked meanwhile, or if the new key would end first
     */
    async rotate(
      { _id, organisation, name, createdAt, expiresAt, without, only, from }: ApiKeyDocument,
      {
        overlapMs,
        lifetimeMs = expiresAt ? expiresAt.getTime() - createdAt.getTime() : undefined,
        issuedBy,
      }: { overlapMs: number; lifetimeMs?: number | undefined; issuedBy?: string | undefined },
    ) {
      const newEnd = lifetimeMs === undefined ? undefined : new Date(now() + lifetimeMs)
      const end = new Date(Math.min(now() + overlapMs, expiresAt?.getTime() ?? Infinity))
      if (newEnd && newEnd < end) {
        const ends = `${newEnd.toISOString()}, before the old one at ${end.toISOString()}`
        throw new NotIssued(`The new key would end at ${ends}: it needs more time, or the old one less overlap`)
      }
      const issued = await issueStored({ organisation, name, expiresAt: newEnd, issuedBy, without, only, from })
      const successor = issued.document._id
      const isFree = { successor: null, revokedAt: null }
      if (await store.update('apiKeys', _id, { expiresAt: end, successor }, isFree)) return { ...issued, end }
      // Nobody has the new key.
      for await (const _count of store.dangerouslyErase('apiKeys', { _id: successor }));
      throw new NotIssued(`Key ${_id} was rotated or revoked meanwhile: no other key takes its place`)
    },

    /** Revokes a key for good. Returns it as it is stored then, and whether it was not revoked before, if it exists. */
    async revoke(keyId: string, revokedBy?: string): Promise<{ stored: StoredKey; isFirst: boolean } | undefined> {
      const fields = { revokedAt: new Date(now()), ...(revokedBy !== undefined && { revokedBy }) }
      const before = await findStored(keyId)
      if (before === undefined) return undefined
      const isFirst = await store.update('apiKeys', keyId, fields, { revokedAt: { $not: { $type: 'date' } } })
      // The key is revoked, and a failure must not hide that.
      return { stored: (await findStored(keyId).catch(() => undefined)) ?? before, isFirst }
    },

    /**
     * How many keys without a successor end within some milliseconds and were used here within an hour. It reads the cache
     * alone, so a rotated key counts until it is read again, or until the hour ends.
     */
    ending(withinMs: number): number {
      const ending = [...known.values()].filter(({ until, document }) => {
        const { expiresAt, revokedAt, successor } = document ?? {}
        const isInUse = elapsed() - until < IN_USE_MS
        const leftMs = (expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - now()
        return isInUse && leftMs > 0 && leftMs < withinMs && !revokedAt && successor === undefined
      })
      return ending.length
    },

    /** The scope of a key, or why it is refused. Many unknown keys from one address throw Overloaded. */
    async verify(key: string, address = ''): Promise<KeyScope | RefusedKey> {
      const keyId = keyIdOf(key)
      if (keyId === undefined) return { refused: 'malformed' }
      const found = await find(keyId, address)
      // The duration of this comparison can reveal only the hash, from which a key of 196 random bits cannot be derived.
      if (found?.document?.hash !== hashOf(key, found?.document)) return { refused: 'unknown' }
      const { organisation, name, expiresAt, revokedAt, only } = found.document
      // Cursors and entity tags depend on the order.
      const without = found.document.without?.toSorted()
      const refuse = (refused: RefusedKey['refused']): RefusedKey => ({ refused, keyId, organisation })
      if (found.organisation === undefined) return refuse('organisation_gone')
      if (revokedAt) return refuse('revoked')
      if ((expiresAt?.getTime() ?? Infinity) <= now()) return refuse('expired')
      if (found.isFrom?.(address) === false) return refuse('wrong_address')
      recordUse(found.document)
      const organisationName = found.organisation.name
      return { organisation, without, only, organisationName, keyId, keyName: name, expiresAt: expiresAt ?? undefined }
    },
  }
}

const timeOf = (date: unknown): number => (date instanceof Date && date.getTime()) || 0

/** What is wrong with a stored key if its restrictions were added or taken away later: it must not be rotated. */
export const changeIn = (document: ApiKeyDocument): string | undefined =>
  document.hash.replace(/[0-9a-f]{64}$/, '') === markOf(document)
    ? undefined
    : 'hash: is of a key with another only or from; issue a key anew'

const errorIn = (document: unknown): string | undefined => {
  if (Value.Check(STORED_KEY, document)) return changeIn(document as ApiKeyDocument)
  const { path, message } = Value.Errors(STORED_KEY, document).First() as ValueError
  return `${path.slice(1)}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}
