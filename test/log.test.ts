// The log of the process: lines are written in blocks, none is lost, and the process never waits for their reader.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { printed, runProgram, startProgram } from './support/process.js'
import { leftToGate } from './support/thorough.js'

/** A program that opens the log, writes numbered lines to it, and then runs `then`. */
const program = (lines: number, then = ''): { argv: string[]; covered: true } => ({
  covered: true,
  argv: [
    '--eval',
    `const { openLog } = await import('./dist/src/log.js')
     const log = openLog()
     for (let i = 0; i < ${lines}; i++) log.write('line ' + i + '\\n')
     ${then}`,
  ],
})
const module = '--input-type=module'
const text = (lines: number): string => Array.from({ length: lines }, (_, i) => `line ${i}\n`).join('')

t.test('a line is written soon even if no other follows, and so is the next one', async (t) => {
  const child = startProgram(
    t,
    module,
    program(1, "setTimeout(() => log.write('another\\n'), 500)\nsetInterval(() => {}, 1000)"),
  )
  await printed(child, /another\n/)
  t.equal(child.output(), 'line 0\nanother\n')
})

t.test('lines that wait are written when the process ends, by exit or by an error', { skip: leftToGate }, async (t) => {
  for (const end of ['process.exit(3)', "throw new Error('a bug')"]) {
    t.equal((await runProgram(t, module, program(3, end))).stdout, text(3), end)
  }
})

t.test('a line that is too long is dropped, and the log says so', async (t) => {
  const then = `log.write('x'.repeat(2 ** 25))
    setInterval(() => {}, 1000)
    process.on('SIGTERM', () => process.exit())`
  const child = startProgram(t, module, program(1, then))
  const [, first, second] = await printed(child, /^(.*)\n(.*)\n/)
  t.equal(first, 'line 0')
  t.match(JSON.parse(second as string), { level: 40, msg: 'log lines were dropped', dropped: 1 })
  child.kill('SIGTERM')
  t.same(await once(child, 'close'), [0, null])
})

t.test('all lines are written in order, to a pipe and to a file', async (t) => {
  t.equal((await runProgram(t, module, program(10_000))).stdout, text(10_000))
  const file = join(t.testdir(), 'log')
  t.same(await once(startProgram(t, module, { ...program(10_000), stdout: file }), 'exit'), [0, null])
  t.equal(readFileSync(file, 'utf8'), text(10_000))
})

t.test('a log on a full disk stops neither the process nor its end', async (t) => {
  const then = "setTimeout(() => { console.error('goes on'); log.write('last') }, 300)"
  const child = startProgram(t, module, { ...program(10_000, then), stdout: '/dev/full' })
  t.same(await once(child, 'close'), [0, null])
  t.equal(child.output(), 'goes on\n')
})

t.test('a reader that has stopped stops neither the process nor its end', async (t) => {
  const then = "console.error('goes on')\nsetTimeout(() => process.exit(), 300)"
  const child = startProgram(t, module, program(100_000, then))
  child.stdout?.pause()
  t.same(await once(child, 'exit'), [0, null])
  await printed(child, /goes on/)
  t.ok(child.output().length < text(100_000).length, 'the pipe cannot hold all lines')
})

t.test('lines that cannot be written are dropped, and their number is logged once writing works again', async (t) => {
  const pipe = join(t.testdir(), 'log')
  execFileSync('mkfifo', [pipe])
  const read = async (end: RegExp) => {
    const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => reader.kill())
    let text = ''
    for await (const chunk of reader.stdout) {
      text += chunk
      if (end.test(text)) break
    }
    reader.kill()
    await once(reader, 'exit')
    return text
  }
  const first = read(/line 9\n/)
  const then = `setInterval(() => { log.write('later\\n'); process.stderr.write('.') }, 50)
    process.on('SIGTERM', () => process.exit())`
  const child = startProgram(t, module, { ...program(10, then), stdout: pipe })
  const ended = once(child, 'exit')
  t.ok((await first).startsWith(text(10)))
  // Without a reader, writing to the pipe fails. The program prints a dot for each of its lines, twenty in a second.
  await printed(child, new RegExp(`^.{${child.output().length + 20}}`))
  const found = /later\n(.*dropped.*)\n/.exec(await read(/dropped.*\n/s)) as RegExpExecArray
  t.match(JSON.parse(found[1] as string), { level: 40, time: Number, msg: 'log lines were dropped', dropped: Number })
  t.ok(JSON.parse(found[1] as string).dropped > 0)
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
})
