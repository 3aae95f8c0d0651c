// What the service can do, in the order of the OpenAPI document.
import { assistants } from './assistants/index.js'
import { checks } from './checks/index.js'
import type { Capability } from './core/door/capability.js'
import { counts } from './counts/index.js'
import { exported } from './exports/index.js'
import { lists } from './lists/index.js'
import { maps } from './maps/index.js'
import { me } from './me/index.js'
import { sync } from './sync/index.js'

// biome-ignore format: one name a line, as one import
export const capabilities: readonly Capability[] = [
  lists,
  exported,
  counts,
  checks,
  sync,
  maps,
  me,
  assistants,
]
