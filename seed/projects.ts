// The projects of an organisation. A project has no list of its dispatches, because each dispatch names its project.
import type { ProjectDocument, UserDocument } from '../src/core/documents/collections.js'
import { createId } from './ids.js'
import type { Tenant } from './organisations.js'
import { pick } from './random.js'
import { after, moment } from './timeline.js'

// No theme names a sector, because the dispatches of a project send forms of all sectors.
const themes = [
  'Rural households panel',
  'Coastal states programme',
  'Sahel border study',
  'Community resilience',
  'Small towns study',
  'Public services watch',
  'Living standards panel',
  'River basin programme',
  'Growing cities study',
  'Village development plan',
  'Women and youth programme',
  'State indicators',
]

/** The projects of an organisation, from 6 to 24 depending on its number of dispatches. */
export function makeProjects(
  { number, random, document }: Tenant,
  users: readonly UserDocument[],
  dispatches: number,
): ProjectDocument[] {
  const count = Math.min(2 * themes.length, 6 + Math.floor(dispatches / 10))
  return Array.from({ length: count }, (_, n) => {
    const createdAt = moment(random, 70, 30, n, count)
    return {
      _id: createId(createdAt, number, 'projects', n),
      organisation: document._id,
      name: `${themes[n % themes.length]} ${2024 + Math.floor(n / themes.length)}`,
      createdBy: pick(random, users)._id,
      modifiedBy: pick(random, users)._id,
      createdAt,
      updatedAt: after(random, createdAt, 400),
    }
  })
}
