// Fictional people: random combinations of given and family names that are common in Nigeria. Do not add real people.
import { faker } from '@faker-js/faker/locale/en_NG'
import { pick, type Random } from './random.js'

// Faker's Nigerian names are plain ASCII, so names with their diacritics are added. Only faker's lists of names are used:
// its random generator is shared by the whole process, so other users of it would change the data.
const { first_name, last_name } = faker.definitions.person

const givenNames = [
  ...['Ọláyínká', 'Adébáyọ̀', 'Bọ́láńlé', 'Títílayọ̀', 'Fọláṣadé', 'Káyọ̀dé', 'Olúwaṣeun', 'Ayọ̀délé'],
  ...['Chinyẹ̀rẹ', 'Añulika', 'Ọbịnna', 'Ifeọma', 'Ụzọma', 'Nkechi', 'Kelechi', 'Amarachi'],
  ...['Aisha', 'Hauwa', 'Garba', 'Sani', 'Ladi', 'Terver', 'Doosuur', 'Ekaette', 'Itoro', 'Osaze', 'Ebiere', 'Tonye'],
  ...Object.values(first_name)
    .flat()
    .filter((name) => name !== 'Sname'), // an error in faker's list
]

const familyNames = [
  ...['Adéwálé', 'Ọlátúnjí', 'Ògúnbíyì', 'Ọbádínà', 'Ọkafọ', 'Nwọsu', 'Eze', 'Ụkachukwu'],
  ...['Abdullahi', 'Danladi', 'Gambo', 'Akpan', 'Effiong', 'Iorfa', 'Ighodaro', 'Briggs'],
  ...Object.values(last_name).flat(),
]

const plain = (name: string) =>
  name
    .normalize('NFD')
    .replace(/[^a-z]/gi, '')
    .toLowerCase()

/** A person. `mark` makes the email addresses of people with the same name differ. */
export function makePerson(random: Random, mark: string) {
  const firstName = pick(random, givenNames)
  const lastName = pick(random, familyNames)
  return { firstName, lastName, email: `${plain(firstName)}.${plain(lastName)}.${mark}@example.org` }
}
