// What package.json says of this release.
import { readFileSync } from 'node:fs'

export const { description, version } = JSON.parse(
  readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'),
) as { description: string; version: string }
