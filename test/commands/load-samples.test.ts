// The sample lines that the help of the command shows.
import t from 'tap'
import { loadCommand } from '../../src/commands/load.js'
import { collections, recordCollections } from '../../src/documents/collections.js'
import { tryCommand } from '../support/command.js'
import { organisation, prepareLoad } from '../support/load.js'

t.test('the help describes each collection, in an order in which --strict finds every reference', async (t) => {
  const { load, store } = await prepareLoad(t)
  const help = await tryCommand(loadCommand, store, ['--help'])
  t.equal(help.code, 0)
  for (const name of recordCollections) {
    const shown = new RegExp(`^${name}\n  required: (.*)\n  optional: (.*)\n  (.*)$`, 'm').exec(help.stdout)
    const [required, optional, sample] = (shown as RegExpExecArray).slice(1) as [string, string, string]
    const target = ['--collection', name, '--organisation', organisation, '--strict', '--json']
    t.match(await load(sample, ...target), { code: 0, stdout: '"written": 1' }, `the sample of ${name} can be loaded`)

    const record = JSON.parse(sample)
    const described = `${required}, ${optional}`.split(', ').filter(Boolean).sort()
    t.same(Object.keys(record).sort(), described, `the sample of ${name} has every field that is described`)
    const stored = Object.keys(collections[name].schema.properties).filter((field) => field !== 'organisation')
    t.same(
      stored.map((field) => (field === '_id' ? 'id' : field)).sort(),
      described,
      `every field of ${name} is described`,
    )
    for (const field of described) {
      const { output } = await load(JSON.stringify({ ...record, id: 'other', [field]: undefined }), ...target)
      const isMissing = output.includes(`line 1: ${field}: is missing`)
      t.equal(isMissing, required.split(', ').includes(field), `whether ${name} requires ${field}`)
    }
  }
})
