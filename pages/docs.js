// The script of /docs: starts Swagger UI, shows the address of this service in the guide, and lets requests be copied.
/* global SwaggerUIBundle */

const base = location.href.replace(/\/docs([?#].*)?$/, '')

for (const block of document.querySelectorAll('pre')) {
  block.textContent = block.textContent.replaceAll('http://127.0.0.1:3000', base)
  // Browsers have a clipboard only on https and on the machine itself.
  if (block.className !== 'request' || navigator.clipboard === undefined) continue
  const text = block.textContent
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const isCopied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
    button.textContent = isCopied ? 'Copied' : 'Not allowed'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2000)
  })
  block.append(button)
}

// Swagger UI would animate each link within the page, and change the address only at the end.
window.noZensmooth = true

// Swagger UI reads the fragment only once.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#/')) location.reload()
})

// Swagger UI takes every fragment for an operation, also one that leads to a part of the guide.
const part = document.getElementById(location.hash.slice(1))
// Readers may go elsewhere while the operations are loading.
let hasMoved = false
for (const type of ['wheel', 'touchmove', 'keydown', 'pointerdown']) {
  addEventListener(
    type,
    () => {
      hasMoved = true
    },
    { once: true, passive: true },
  )
}

const dark = matchMedia('(prefers-color-scheme: dark)')
const setDark = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', setDark)
setDark()

// Colours for a megabyte would hold the page for ten seconds.
const MOST_COLOURED = 100_000
const plainIfLarge =
  (Coloured, { React, getComponent }) =>
  (props) =>
    React.createElement(
      String(props.children).length > MOST_COLOURED ? getComponent('PlainTextViewer') : Coloured,
      props,
    )

// This script comes before that of Swagger UI, which is large, so that the guide is complete at once.
const operations = document.getElementById('swagger-ui')
operations.textContent = 'Loading…'
// What Swagger UI leaves out for people who use a screen reader or the keyboard: names of selections, and focus for parts
// that scroll.
new MutationObserver(() => {
  for (const select of operations.querySelectorAll('select:not([aria-label])')) {
    const { paramName, code } = select.closest('tr')?.dataset ?? {}
    select.setAttribute('aria-label', paramName ?? `Example of a response ${code}`)
  }
  for (const block of operations.querySelectorAll('pre:not([tabindex])')) block.tabIndex = 0
}).observe(operations, { childList: true, subtree: true })

const start = async () => {
  const spec = await fetch(`${base}/openapi.json`, { credentials: 'omit' })
    .then((response) => response.ok && response.json())
    .catch(() => false)
  if (typeof SwaggerUIBundle === 'undefined' || !spec) {
    operations.textContent = 'The operations could not be loaded. Reload the page, or read openapi.json.'
    return
  }
  SwaggerUIBundle({
    dom_id: '#swagger-ui',
    // The page may be open at another address than the document says. People have one thing to fill in: their key.
    spec: {
      ...spec,
      servers: [{ url: base }],
      security: [{ apiKey: [] }],
      components: { ...spec.components, securitySchemes: { apiKey: spec.components.securitySchemes.apiKey } },
    },
    layout: 'BaseLayout',
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    // The limits of each parameter stand beside it.
    showCommonExtensions: true,
    displayRequestDuration: true,
    persistAuthorization: true,
    tryItOutEnabled: true,
    // A theme whose colours can be read well.
    syntaxHighlight: { theme: 'tomorrow-night' },
    // There is one server, this one: a menu of servers would offer nothing.
    plugins: [{ wrapComponents: { SyntaxHighlighter: plainIfLarge, ServersContainer: () => () => null } }],
    onComplete: () => {
      if (part === null || hasMoved) return
      history.replaceState(null, '', `#${part.id}`)
      part.scrollIntoView()
    },
    // Swagger UI writes the scheme itself, and people paste it or the whole header with the key, or quotes around it. A
    // header cannot carry the ellipsis of a key that was not filled in.
    requestInterceptor: (request) => {
      // Otherwise a browser would open its dialog for a name and a password over this page, or send what it knows.
      request.credentials = 'omit'
      if (request.url.includes('/v1/exports/')) {
        // The path names the format. Swagger UI would ask for the first one that there is, and let curl print any.
        delete request.headers.accept
        request.curlOptions = ['-O']
        // Swagger UI names each other type than this.
      } else if (request.headers.accept === '*/*') request.headers.accept = 'application/json'
      const { Authorization } = request.headers
      if (Authorization !== undefined)
        request.headers.Authorization = Authorization.replace(/[^\x20-\x7e]|["']/g, '').replace(
          /^((Bearer|Authorization:)\s+)+/i,
          'Bearer ',
        )
      return request
    },
  })
}
addEventListener('DOMContentLoaded', start)
