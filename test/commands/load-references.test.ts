// References to records that the organisation does not have.
import t, { type Test } from 'tap'
import { loadCommand } from '../../src/commands/load.js'
import { tryCommand } from '../support/command.js'
import { fileWith, intoEntries, line, organisation } from '../support/load.js'
import { testStore } from '../support/store.js'
import { a, b, fillTenants, stolen } from '../support/tenants.js'
import { leftToGate } from '../support/thorough.js'

const prepare = async (t: Test) => {
  const store = testStore(t)
  await fillTenants(store)
  const load = (text: string, ...argv: string[]) => tryCommand(loadCommand, store, [fileWith(t, text), ...argv])
  return { load, store }
}

t.test(
  'a missing reference is reported in the same words whether or not another organisation has the record',
  async (t) => {
    const { load, store } = await prepare(t)
    const text = [
      line({ _id: 'whole' }),
      line({ _id: 'stolen', form: b.form._id, agent: b.agent(1)._id }),
      line({ _id: 'astray', form: 'nothing', dispatch: undefined }),
    ].join('\n')
    const named = [
      `line 2: form: ${organisation} has no "form-b" in forms`,
      `line 2: agent: ${organisation} has no "agent1-b" in agents`,
      `line 3: form: ${organisation} has no "nothing" in forms`,
    ]
    const refused = await load(text, ...intoEntries, '--strict')
    t.equal(refused.code, 1)
    t.equal(
      refused.output,
      [...named, `Nothing was written. References to records that ${organisation} does not have: 3`, ''].join('\n'),
    )
    t.equal((await store.dangerouslyFindAll('entries', { _id: 'whole' })).length, 0)
    const loaded = await load(text, ...intoEntries, '--json')
    t.match(JSON.parse(loaded.stdout), { written: 3, present: 0, missingReferences: 3 })
    t.match(loaded.output, [...named, `References to records that ${organisation} does not have: 3`].join('\n'))
    t.match(await load(line({ _id: 'whole' }), ...intoEntries, '--strict'), {
      code: 0,
      output: /^Wrote 0 .* already there\n$/,
    })
  },
)

t.test('references are found in every field that holds one, however many ids it holds', async (t) => {
  const { load } = await prepare(t)
  const target = (collection: string) => ['--collection', collection, '--organisation', organisation, '--strict']
  const { output } = await load(JSON.stringify({ ...stolen.dispatch, _id: 'd' }), ...target('dispatches'))
  for (const field of ['form', 'project', 'createdBy', 'modifiedBy', 'recipients.agents']) {
    t.match(output, `line 1: ${field}: `)
  }
  const agents = [a.agent(1)._id, ...Array.from({ length: 1500 }, (_, n) => `agent-${n}`), a.agent(2)._id]
  const many = { ...a.dispatch(1), _id: 'e', recipients: { agents, agentGroups: ['any'] } }
  t.match(await load(JSON.stringify(many), ...target('dispatches')), {
    code: 1,
    output: /recipients.agents: .*\nNothing was written. References .*: 1500/s,
  })
  const project = { ...a.project(1), _id: 'p', modifiedBy: 'nobody' }
  t.match(await load(JSON.stringify(project), ...target('projects')), {
    code: 1,
    output: `line 1: modifiedBy: ${organisation} has no "nobody" in users`,
  })
  const user = { ...a.user, _id: 'u' }
  t.match(await load(JSON.stringify(user), ...target('users')), { code: 0 })
})

t.test('more references can be missing than a call can have arguments', { skip: leftToGate }, async (t) => {
  const { load } = await prepare(t)
  const { organisation: _, ...dispatch } = a.dispatch(1)
  const lines = Array.from({ length: 1000 }, (_line, n) => {
    const agents = Array.from({ length: 150 }, (_agent, i) => `none-${i}`)
    return JSON.stringify({ ...dispatch, _id: `d${n}`, recipients: { agents, agentGroups: [] } })
  })
  const argv = ['--collection', 'dispatches', '--organisation', organisation, '--strict']
  t.match(await load(lines.join('\n'), ...argv), { code: 1, output: /References .* does not have: 150000\n$/ })
})
