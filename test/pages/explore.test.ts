// The page at /explore: its files, how they are sent, and that it can be switched off. What it does is tested in a browser.
import { readdirSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { testApp } from '../support/app.js'
import { NO_NUMBERS, NUMBERS } from '../support/numbers.js'
import { leftToGate } from '../support/thorough.js'

/** The paths that a text names: those of a page, or those that a module imports. */
const namedIn = (text: string): string[] =>
  [...text.matchAll(/(?:(?:href|src)=|from |import )["']((?!https?:)[^"']+\.\w+)["']/g)].map(([, path = '']) => path)

t.test(
  'the page loads only files of its own, from a folder whose name changes with their content',
  { skip: leftToGate },
  async (t) => {
    const { app } = await testApp(t, { settings: { EXPLORE: 'true' } })
    const page = await app.inject('/explore')
    t.equal(page.statusCode, 200)
    t.match(page.headers, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    })
    t.notMatch(page.body, /%[\w.-]+%|<script>|style="|\son\w+=/)
    const files = namedIn(page.body).map((path) => `/${path}`)
    t.equal(files.length, 6)
    const folder = /^\/explore\/files\/[\da-f]{12}\//.exec(files[0] as string)?.[0] ?? ''
    for (const name of ['countries-110m.json', 'states.json']) files.push(`${folder}${name}`)
    let bytes = page.rawPayload.length
    for (const file of files) {
      t.ok(file.startsWith(folder), file)
      const response = await app.inject(file)
      t.equal(response.statusCode, 200, file)
      t.match(response.headers, {
        'cache-control': 'public, max-age=31536000, immutable',
        'content-type': /^(text\/(javascript|css); charset=utf-8|image\/svg\+xml|application\/json)$/,
        'x-content-type-options': 'nosniff',
      })
      bytes += (await app.inject({ url: file, headers: { 'accept-encoding': 'gzip' } })).rawPayload.length
      // Modules import each other, and all are found from the first.
      if (!file.endsWith('.min.js')) {
        t.notMatch(
          response.body.replace('http://www.w3.org/2000/svg', ''),
          /https?:\/\//,
          `${file} names no other place`,
        )
        for (const name of namedIn(response.body)) {
          const path = new URL(name, `http://localhost${file}`).pathname
          if (!files.includes(path)) files.push(path)
        }
      }
    }
    const modules = readdirSync('pages/explore').map((name) => `${folder}${name}`)
    t.same(
      modules.filter((module) => !files.includes(module)),
      [],
      'no file is of no use',
    )
    t.ok(bytes < 300_000, `${bytes} bytes before the data`)
  },
)

t.test('no module of the page puts text into the page as HTML, or keeps anything in the browser', async (t) => {
  for (const name of readdirSync('pages/explore').filter((name) => name.endsWith('.js'))) {
    const module = readFileSync(`pages/explore/${name}`, 'utf8')
    t.notMatch(
      module,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.html\(|eval|localStorage|sessionStorage/,
      name,
    )
  }
})

t.test('a number of the page is one of the service', async (t) => {
  const { byAnswer, numberIn } = await import(pathToFileURL('pages/explore/questions.js').href)
  const wrong = [
    ...Object.entries(NUMBERS).filter(([text, number]) => numberIn(text) !== number),
    ...NO_NUMBERS.filter((text) => numberIn(text) !== undefined),
  ]
  t.same(wrong, [])
  t.same(['b', '10', '9', 'a', 'a', '-1'].sort(byAnswer), ['-1', '9', '10', 'a', 'a', 'b'])
})

t.test('an address with a slash at its end leads to the page', async (t) => {
  const { app } = await testApp(t, { settings: { EXPLORE: 'true' } })
  const slash = await app.inject('/explore/')
  t.equal(slash.statusCode, 301)
  t.equal(slash.headers.location, '../explore')
})

t.test('EXPLORE=false switches the page off', async (t) => {
  const { app } = await testApp(t, { settings: { EXPLORE: 'false' } })
  for (const path of ['/explore', '/explore/']) t.equal((await app.inject(path)).json().code, 'route_not_found')
  t.equal((await app.inject('/docs')).statusCode, 200)
})
