// Files that are complete or not there at all.
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { requireFree, writeNew } from '../../src/commands/new-file.js'
import { CommandError } from '../../src/commands/run-command.js'

async function* partsOf(texts: readonly string[], end = async () => {}): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text)
  await end()
}

t.test('a file has its name when it is complete, whatever a killed export left beside it', async (t) => {
  const unfinished = `file.${process.pid}.part`
  const folder = t.testdir({ file: 'old', [unfinished]: 'of an earlier process' })
  const file = `${folder}/file`
  const look = async () => {
    t.equal(readFileSync(file, 'utf8'), 'old')
    t.equal(readFileSync(`${folder}/${unfinished}`, 'utf8'), 'ab')
  }
  t.equal(await writeNew(file, true, partsOf(['a', 'b'], look)), 2)
  t.equal(readFileSync(file, 'utf8'), 'ab')
  t.same(readdirSync(folder), ['file'])
})

t.test('a name is free, or its file may be replaced', async (t) => {
  const folder = t.testdir({ file: '' })
  mkdirSync(`${folder}/folder`)
  symlinkSync('file', `${folder}/link`)
  await requireFree(`${folder}/none`, false)
  await requireFree(`${folder}/file`, true)
  await t.rejects(requireFree(`${folder}/file`, false), /file exists: name another file, or use --force/)
  for (const name of ['folder', 'link']) {
    const message = new RegExp(`${name} exists and is not a regular file`)
    await t.rejects(requireFree(`${folder}/${name}`, true), message)
    await t.rejects(writeNew(`${folder}/${name}`, true, partsOf(['a'])), message)
  }
  t.same(readdirSync(folder), ['file', 'folder', 'link'])
})

t.test('what goes wrong leaves the folder as it was, and a file that came meanwhile', async (t) => {
  const folder = t.testdir({ file: 'old' })
  const file = `${folder}/file`
  const other = `${folder}/other`
  const full = () => Promise.reject(Object.assign(new Error('ENOSPC: no space left'), { syscall: 'write' }))
  await t.rejects(
    writeNew(file, true, partsOf(['a'], full)),
    new CommandError(`${file} cannot be written: ENOSPC: no space left`),
  )
  const bug = () => Promise.reject(new Error('a bug'))
  await t.rejects(writeNew(file, true, partsOf(['a'], bug)), new Error('a bug'))
  await t.rejects(writeNew(`${folder}/none/file`, false, partsOf([])), /none\/file cannot be written: ENOENT/)
  const came = async () => writeFileSync(other, 'mine')
  await t.rejects(writeNew(other, false, partsOf(['a'], came)), /other exists: name another file/)
  t.same(
    readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, 'utf8')),
    ['old', 'mine'],
  )
})
