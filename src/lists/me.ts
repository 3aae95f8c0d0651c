// The organisation of the caller's key, and its limits.
import type { Me } from '../../schemas/me.js'
import type { ValueAnswer } from '../core/door/answer.js'
import type { KeyScope } from '../core/keys/keys.js'

export const getMe = (
  { organisation, organisationName, keyId, keyName, expiresAt, without, only }: KeyScope,
  limits: Me['limits'],
): ValueAnswer => {
  const data: Me = {
    organisation: { id: organisation, name: organisationName },
    key: {
      id: keyId,
      name: keyName,
      ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
      ...(without && { without: [...without] }),
      ...(only && { only }),
    },
    limits,
  }
  return { value: { success: true, data } }
}
