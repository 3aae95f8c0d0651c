// What a status looks like: usual ones have a colour of their own, and a sign, which stands beside the word.

/** The names of the colours, which the style sheet has. Each status without one of its own has the first. */
export const tones = /** @type {const} */ (['mark', 'accepted', 'pending', 'rejected'])
const signs = ['•', '✓', '○', '✕']

/** The index of the colour of a status. @param {unknown} status */
export const toneOf = (status) => Math.max(0, tones.indexOf(/** @type {any} */ (status)))

/** Shows the colour of a status, and its sign before the word. @param {HTMLElement} node @param {string} status */
export const setTone = (node, status, word = node) => {
  node.style.setProperty('--tone', `var(--${tones[toneOf(status)]})`)
  word.dataset.sign = signs[toneOf(status)]
}
