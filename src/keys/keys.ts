// API keys: issue and verify them. A key belongs to one organisation; what is kept of it is its SHA-256.
import { LRUCache } from 'lru-cache'
import type { Scope } from '../pipelines/stages.js'
import type { ApiKeyDocument } from '../store/collections.js'
import type { Store } from '../store/store.js'
import { type Draw, hashOf, keyIdOf, makeKey } from './format.js'

/** How long a verified key is taken without asking the database, in milliseconds: a revocation is felt within 30 s. */
const CACHE_MS = 25_000
const CACHED_KEYS = 10_000
/** How often the last use of a key is written, in milliseconds. */
const LAST_USED_MS = 60_000

/** Whose data a request may read, and the key that says so. */
export interface KeyScope extends Scope {
  readonly keyId: string
}

export interface Keys {
  /**
   * Issues a key; the answer is the only place where it stands.
   * @param draw makes the key other than at random: for the demo alone
   */
  issue(key: Pick<ApiKeyDocument, 'organisation' | 'name' | 'expiresAt'>, draw?: Draw): Promise<string>
  /** The keys of an organisation, or of all, in the order of their making. */
  list(organisation?: string): Promise<ApiKeyDocument[]>
  /** Revokes a key for good, from now on or from when it was first revoked; says whether there is one. */
  revoke(keyId: string): Promise<boolean>
  /** The scope of a key; undefined if it is malformed, unknown, expired or revoked. */
  verify(key: string): Promise<KeyScope | undefined>
}

/**
 * @param onError told of a last use that could not be written: it costs no request its answer
 * @param now the clock, in milliseconds since 1970
 * @param elapsed a clock that nobody sets, in milliseconds: a key is trusted no longer when the other is put back
 */
export const keysOf = (
  store: Store,
  onError: (error: unknown) => void,
  now: () => number = Date.now,
  elapsed: () => number = () => performance.now(),
): Keys => {
  const cache = new LRUCache<string, ApiKeyDocument>({
    max: CACHED_KEYS,
    ttl: CACHE_MS,
    ttlResolution: 0, // the clock is read at every look: a key is never trusted for longer
    perf: { now: elapsed },
    fetchMethod: (keyId) => store.dangerouslyFind('apiKeys', keyId),
  })

  /** Notes the use of a key, once a minute. */
  const touch = (document: ApiKeyDocument): void => {
    const time = now()
    if (time - (document.lastUsedAt?.getTime() ?? 0) < LAST_USED_MS) return
    document.lastUsedAt = new Date(time)
    store.update('apiKeys', document._id, { lastUsedAt: document.lastUsedAt }).catch(onError)
  }

  return {
    async issue({ organisation, name, expiresAt }, draw) {
      const key = makeKey(draw)
      await store.insert('apiKeys', [
        {
          _id: keyIdOf(key) as string,
          organisation,
          name,
          hash: hashOf(key),
          createdAt: new Date(now()),
          ...(expiresAt && { expiresAt }),
        },
      ])
      return key
    },

    async list(organisation) {
      const found = await store.dangerouslyFindAll('apiKeys', organisation === undefined ? {} : { organisation })
      return found.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
    },

    async revoke(keyId) {
      const document = await store.dangerouslyFind('apiKeys', keyId)
      if (document === undefined) return false
      if (!document.revokedAt) await store.update('apiKeys', keyId, { revokedAt: new Date(now()) })
      return true
    },

    async verify(key) {
      const keyId = keyIdOf(key)
      const document = keyId && (await cache.fetch(keyId))
      // How long the comparison takes tells of the hash alone, from which no key of 196 random bits can be found.
      if (!document || document.hash !== hashOf(key)) return undefined
      if (document.revokedAt || (document.expiresAt?.getTime() ?? Infinity) <= now()) return undefined
      touch(document)
      return { organisation: document.organisation, keyId: document._id }
    },
  }
}
