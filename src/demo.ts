// The demo data and one API key for each of its organisations. Both are the same at every start.
import { demoOptions } from '../seed/options.js'
import { createRandom } from '../seed/random.js'
import { type ScenarioOptions, scenarioData } from '../seed/scenarios.js'
import type { OrganisationDocument } from './core/documents/collections.js'
import { keysOf } from './core/keys/keys.js'
import type { Store } from './core/store/store.js'

export interface DemoKey {
  organisation: OrganisationDocument
  key: string
}

export const loadDemo = async (store: Store, options: Partial<ScenarioOptions> = {}): Promise<DemoKey[]> => {
  const keys = keysOf(store, () => {})
  const demoKeys: DemoKey[] = []
  for (const { collection, documents } of scenarioData({ scenario: 'demo', ...options })) {
    await store.insert(collection, documents)
    if (collection !== 'organisations') continue
    for (const organisation of documents) {
      const random = createRandom(demoOptions.seed + demoKeys.length)
      const randomInteger = (limit: number) => Math.floor(random() * limit)
      const key = await keys.issue({ organisation: organisation._id, name: 'Demo' }, randomInteger)
      demoKeys.push({ organisation, key })
    }
  }
  return demoKeys
}
