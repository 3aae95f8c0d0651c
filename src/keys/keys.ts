// API keys: issue and verify them. A key belongs to one organisation; what is kept of it is its SHA-256. Other programs may
// write into the database too: a stored key that does not fit its schema lets nobody in.
import { Value, type ValueError } from '@sinclair/typebox/value'
import { LRUCache } from 'lru-cache'
import { type ApiKeyDocument, collections } from '../documents/collections.js'
import type { Scope } from '../pipelines/stages.js'
import type { Store } from '../store/store.js'
import { type Draw, hashOf, keyIdOf, makeKey } from './format.js'
import { lookUpsBy } from './look-ups.js'

/** How long a verified key is taken without asking the database, in milliseconds: a revocation is felt within 30 s. */
const VERIFIED_MS = 25_000
/** How long it is remembered that a key is unknown, in milliseconds. */
const UNKNOWN_MS = 5000
/** How many keys of either kind are remembered: those that are unknown push out none that was verified. */
const REMEMBERED_KEYS = 10_000
/** How often the last use of a key is written, in milliseconds. */
const LAST_USED_MS = 60_000
/** What a stored key must be; it may have fields of others beside. */
const STORED_KEY = { ...collections.apiKeys.schema, additionalProperties: true }

/** Whose data a request may read, and the key that says so. */
export interface KeyScope extends Scope {
  readonly keyId: string
}

/** A key as it stands in the database, where it need not fit its schema. */
export interface StoredKey {
  readonly document: Readonly<Record<string, unknown>>
  /** The field that does not fit, and why; with it the key lets nobody in. */
  readonly fault: string | undefined
}

export interface Keys {
  /**
   * Issues a key. The result is the only place where the key can be read. If it was tried before it was there, it works some seconds
   * later (see verify).
   * @param draw makes the key other than at random: for the demo alone
   */
  issue(key: Pick<ApiKeyDocument, 'organisation' | 'name' | 'expiresAt'>, draw?: Draw): Promise<string>
  /** The keys of an organisation, or of all, in the order of their making. */
  list(organisation?: string): Promise<StoredKey[]>
  /** Revokes a key for good, from now on or from when it was first revoked; says whether there is one. */
  revoke(keyId: string): Promise<boolean>
  /**
   * The scope of a key; undefined if it is malformed, unknown, expired or revoked. That it is unknown is remembered for five
   * seconds.
   * @throws StoreUnavailable also when too many keys that were not verified lately are asked for at once
   */
  verify(key: string): Promise<KeyScope | undefined>
}

/** A stored key that does not fit its schema. The message says which field, and nothing of what stands in it. */
class UnfitKey extends Error {
  constructor(
    readonly keyId: string,
    fault: string,
  ) {
    super(`Key ${keyId} does not fit: ${fault}`)
    this.name = 'UnfitKey'
  }
}

/**
 * @param onFault told of what goes wrong beside a request: a stored key that does not fit, and a last use that could not be
 * written, which fails no request
 * @param now the clock, in milliseconds since 1970
 * @param elapsed a clock that nobody sets, in milliseconds: a key is trusted no longer when the other is put back
 */
export const keysOf = (
  store: Store,
  onFault: (error: unknown, what: string) => void,
  now: () => number = Date.now,
  elapsed: () => number = () => performance.now(),
): Keys => {
  const verified = new LRUCache<string, { document: ApiKeyDocument; until: number }>({ max: REMEMBERED_KEYS })
  /** Ids under which there is no key, or another key than the one that was shown: then its hash, which is let through. */
  const unknown = new LRUCache<string, { hash: string | undefined; until: number }>({ max: REMEMBERED_KEYS })

  const lookUp = lookUpsBy(async (keyId) => {
    const asked = elapsed()
    const stored = await store.dangerouslyFind('apiKeys', keyId)
    const fault = stored && faultIn(stored)
    if (fault === undefined) return { document: stored, asked }
    onFault(new UnfitKey(keyId, fault), 'a stored key does not fit and is refused')
    return { document: undefined, asked }
  })

  /**
   * The stored key with an id, of which none was verified lately.
   * @param wasVerified whether one was before: then it stays known, whoever asks
   */
  const find = async (keyId: string, hash: string, wasVerified: boolean): Promise<ApiKeyDocument | undefined> => {
    const refused = unknown.get(keyId)
    if (refused !== undefined && refused.hash !== hash && elapsed() < refused.until) return undefined
    const { document, asked } = await lookUp(keyId, wasVerified)
    if (document !== undefined && (wasVerified || document.hash === hash)) {
      verified.set(keyId, { document, until: asked + VERIFIED_MS })
    } else {
      verified.delete(keyId)
      unknown.set(keyId, { hash: document?.hash, until: asked + UNKNOWN_MS })
    }
    return document
  }

  /** Notes the use of a key, once a minute. */
  const touch = (document: ApiKeyDocument): void => {
    const time = now()
    if (time - (document.lastUsedAt?.getTime() ?? 0) < LAST_USED_MS) return
    document.lastUsedAt = new Date(time)
    store
      .update('apiKeys', document._id, { lastUsedAt: document.lastUsedAt })
      .catch((error) => onFault(error, 'the last use of a key was not written'))
  }

  return {
    async issue({ organisation, name, expiresAt }, draw) {
      const key = makeKey(draw)
      const document: ApiKeyDocument = {
        _id: keyIdOf(key) as string,
        organisation,
        name,
        hash: hashOf(key),
        createdAt: new Date(now()),
        ...(expiresAt && { expiresAt }),
      }
      const fault = faultIn(document)
      if (fault !== undefined) throw new UnfitKey(document._id, fault)
      await store.insert('apiKeys', [document])
      return key
    },

    async list(organisation) {
      const found = await store.dangerouslyFindAll('apiKeys', organisation === undefined ? {} : { organisation })
      return found
        .sort((a, b) => timeOf(a.createdAt) - timeOf(b.createdAt))
        .map((document) => ({ document, fault: faultIn(document) }))
    },

    async revoke(keyId) {
      const document = await store.dangerouslyFind('apiKeys', keyId)
      if (document === undefined) return false
      if (!(document.revokedAt instanceof Date)) await store.update('apiKeys', keyId, { revokedAt: new Date(now()) })
      return true
    },

    async verify(key) {
      const keyId = keyIdOf(key)
      if (keyId === undefined) return undefined
      const hash = hashOf(key)
      const known = verified.get(keyId)
      const document =
        known !== undefined && elapsed() < known.until ? known.document : await find(keyId, hash, known !== undefined)
      // How long the comparison takes tells of the hash alone, from which no key of 196 random bits can be found.
      if (document?.hash !== hash) return undefined
      if (document.revokedAt || (document.expiresAt?.getTime() ?? Infinity) <= now()) return undefined
      touch(document)
      return { organisation: document.organisation, keyId: document._id }
    },
  }
}

const timeOf = (date: unknown): number => (date instanceof Date && date.getTime()) || 0

/** The field of a stored key that does not fit, and why. */
const faultIn = (document: unknown): string | undefined => {
  if (Value.Check(STORED_KEY, document)) return undefined
  const { path, message } = Value.Errors(STORED_KEY, document).First() as ValueError
  return `${path.slice(1)}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}
