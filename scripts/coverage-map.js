// Tells tap which source files a test file covers: all, or none for tests that try thousands of random values
// and for most tests of the whole service. These cover no line that others leave out, and counting would slow them down.
// A group of such files has a name that ends in -uncounted: see test-groups.js.
const COVERS_NONE =
  /-uncounted\.js$|^dist\/test\/(core\/write\/writer-(fuzz|oracle)|service\/(?!bad-input|lists|walks)|sync\/changes-model)/

/** @param file a compiled test file */
// biome-ignore lint/style/noDefaultExport: tap requires it
export default (file) => (COVERS_NONE.test(file) ? null : [])
