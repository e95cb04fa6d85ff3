"""What texts are measured by: how corrections read in general, and what people say that no correction can matter for.

Neither has anything to do with what a workspace records. A new text here changes what the floor means: calibrate
anew. Their vectors come with the program, since making them takes seconds: `python -m engine.backdrops` after a change.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.embeddings import LocalE5
from engine.ids import digest

Vectors: TypeAlias = NDArray[np.float32]
FILE: Final = Path(__file__).with_name("backdrops.npz")

# Corrections about nothing in particular: a crowd for workspaces that have none yet.
BACKDROP: Final = (
    "The opening hours of the library: 9 to 17, not 8 to 18. The summer timetable applies.",
    "Title of the report: Annual review, not Draft. It was renamed before printing.",
    "Colour of the logo: dark green, not blue. See the style guide.",
    "Email of the reader: anna@example.org, not ana@example.org. A letter was missing.",
    "Phone number: +44 20 7946 0018, not +44 20 7946 0081. Two digits were swapped.",
    "Language of the letter: French, not English. She wrote to us in French.",
    "The meeting room is 2.14, not 2.41. Read from the door sign.",
    "Sort the list by last name. Ordering: surname, not first name.",
    "Summary of the article: three sentences, not ten. Readers want it short.",
    "Write out the name of the month. Date format: 7 March 2024, not 07/03/24.",
    "Category of the ticket: question, not complaint. The customer only asked.",
    "Priority: low, not urgent. Nobody is waiting for it.",
    "Weather station at the pier: 14.2, not 41.2. A sensor fault.",
    "Author of the painting: unknown, not a pupil of Rubens. The museum corrected its catalogue.",
    "Number of participants: 23, not 32. Counted again at the door.",
    "Country: Austria, not Australia. The postcode has four digits.",
    "Greeting: Dear Dr Lee, not Hi. They have not met.", "Is the shop open on Sunday? Answer: no, not yes.",
    "Translate the menu for guests. Dish: veal, not beef. Kalb means veal.",
    "Recommend a film for children. Age rating: 6, not 12.",
    "Which tree is in the picture? Species: beech, not oak. The bark is smooth.",
    "Sentiment of the review: negative, not positive. It is ironic.",
    "Speaker of the second part: the minister, not the moderator.",
    "Unit: kilometres, not miles. The road signs are European.",
    "Öffnungszeit: 10 Uhr, nicht 9 Uhr. Am Feiertag später.", "Farbe des Autos: weiß, nicht silber. Foto liegt bei.",
    "Couleur du dossier : rouge, pas vert. Voir le catalogue.", "Prénom : Émile, pas Emil. Orthographe d'origine.",
    "Título: segunda edición, no primera.", "Numero di pagine: 212, non 221.",
    "颜色:红色,不是蓝色。请看照片。", "会议地点:二楼,不是三楼。",
)  # fmt: skip

# Small talk, general knowledge, sums, recipes, code: what agents are asked beside their work.
IDLE: Final = (
    "Hello there!", "How are you today?", "Thank you very much.", "Good night, sleep well.", "See you later.",
    "Yes please.", "No, never mind.", "haha", "What is your name?", "Who made you?", "Can you feel emotions?",
    "I am bored, entertain me.", "Tell me a story about a dragon.", "Write a poem about the sea.",
    "Write a short song about friendship.", "Write a limerick about a cat.", "Compose a rap about pizza.",
    "Make up a joke about penguins and lawyers.", "Tell me a scary story.", "Give me a riddle to solve.",
    "Invent a name for a rock band.", "Write a love letter.", "What is the capital of Mongolia?",
    "How high is Mount Everest?", "Who painted the Mona Lisa?", "Who was the first person in space?",
    "When did the Second World War end?", "What is the population of Brazil?",
    "Which river is the longest in the world?", "Why do leaves change colour in autumn?", "How does a rainbow form?",
    "What is a black hole?", "How many legs does a spider have?", "What do pandas eat?",
    "How long do elephants live?", "Which animal is the fastest?", "Explain photosynthesis to a child.",
    "Explain how gravity works in simple words.", "Tell me something interesting about volcanoes on other planets.",
    "Tell me about ancient Egypt.", "Give me facts about whales.", "What was the Renaissance?",
    "Who won the football championship last year?", "What are the rules of tennis?", "How do you play poker?",
    "What is the best strategy in chess?", "Which film won the Oscar for best picture?",
    "Recommend a good movie for tonight.", "Recommend a book about history.", "Recommend a podcast on astronomy.",
    "What music should I listen to?", "Who sings this song?", "Which instrument is easiest to learn?",
    "How do I tune a guitar?", "What is the weather today?", "Will it rain tomorrow?",
    "Set a timer for ten minutes.", "Remind me to call my mother.", "Turn on the lights.", "Play some jazz.",
    "What time is it in Tokyo?", "How do I bake a chocolate cake?", "Give me a recipe for lasagne.",
    "How do I make pancakes without eggs?", "Which wine goes with fish?", "How many calories are in a banana?",
    "How do I lose weight?", "Show me a yoga exercise for the back.", "How do I meditate?",
    "What should I wear to a party?", "Gift ideas for a birthday.", "How do I train a puppy?",
    "How often should I water a cactus?", "How do I draw a horse?", "How do I learn to swim?",
    "Fold a paper aeroplane step by step.", "What is 17 times 23?", "Is 91 a prime number?",
    "Solve the equation 3x + 7 = 22.", "What is the derivative of x squared?", "Compute the area of a circle.",
    "Prove Pythagoras' theorem.", "How many digits does pi have?", "Sum of the numbers from one to a hundred.",
    "Convert 10 miles into kilometres.", "Convert 70 degrees Fahrenheit to Celsius.",
    "How many grams are in an ounce?", "How many seconds are there in a year?", "How many moons does Jupiter have?",
    "Spell the word necessary.", "Reverse the letters of a word.", "What rhymes with blue?",
    "What is the plural of mouse?", "Translate good morning into Japanese.", "How do you say thank you in Swahili?",
    "What does the idiom break a leg mean?", "Give me a synonym for happy.",
    "Write a function that reverses a string.", "for i in range(10): print(i)", "def add(a, b): return a + b",
    "SELECT name FROM users WHERE age > 18", "console.log('hello world')", "Write a regular expression for dates.",
    "What is the difference between a list and a tuple in Python?", "#include <stdio.h>",
    "Which novel by Tolstoy is the longest?", "Who wrote Romeo and Juliet?", "Quote a line from Shakespeare.",
    "Name five songs with the word love in the title.", "Name three novels set in a hotel.", "List all the planets.",
    "Name an animal that starts with Q.", "What is the meaning of dreams?", "What is my horoscope for today?",
    "Do aliens exist?", "Is there life after death?", "Who would win, a lion or a tiger?",
    "If you were a colour, which one would you be?", "Flip a coin.", "Pick a random number.", "qwerty uiop",
    "blah blah blah", "test test", "Hallo, wie geht's?", "Erzähl mir einen Witz.", "Wie hoch ist die Zugspitze?",
    "Schreib ein Gedicht über den Herbst.", "Wer hat das Telefon erfunden?", "Wie wird das Wetter morgen?",
    "Bonjour, ça va ?", "Raconte-moi une blague.", "Quelle est la hauteur de la tour Eiffel ?",
    "Écris un poème sur la lune.", "¿Qué tal estás?", "Cuéntame un chiste.", "¿Quién pintó el Guernica?",
    "Ciao, come va?", "你好", "给我讲个故事。", "今天天气怎么样?", "世界上最高的山是什么?", "こんにちは",
    "冗談を言ってください。", "Привет, как дела?", "😀", "!!!",
    "Is an avocado a vegetable?", "Are mushrooms plants?", "Who invented the microscope?",
    "Who discovered the structure of DNA?", "Which scientist found radium?", "When was insulin first made?",
    "What does the Latin phrase ad hoc mean?", "What is the origin of the word salary?",
    "Spell a long word backwards.", "Say a word ten times fast.", "Count the vowels in a sentence.",
    "How many reindeer does it take to pull a sleigh?", "How many elves work for Father Christmas?",
    "How do I remove a stain from a carpet?", "What is the best way to polish shoes?", "How do I fold a fitted sheet?",
    "How do I get rid of hiccups?", "How can I stop snoring?", "What helps against a sore throat?",
    "Plan a workout for my legs.", "How do I hold a guitar?", "How fast can a cheetah run?",
    "Can cats eat cheese?", "What should I feed a hamster?", "What shall I call my goldfish?",
    "What colour goes well with purple?", "How do I tie a tie?", "Suggest a costume for carnival.",
    "Organise a treasure hunt for children.", "Write a toast for my sister's wedding.",
    "Write a birthday greeting for a friend.", "Write a fairy tale about a talking fox.",
    "Write an essay on the French Revolution.", "Summarise the plot of a famous play.",
    "Compare cats and dogs.", "What happened in the year 1492?", "Who was Cleopatra?", "Who rules Sweden?",
    "Name the seven wonders of the ancient world.", "How many bones does a human have?",
    "How many letters has the Greek alphabet?", "How many chapters does the Odyssey have?",
    "How long does light take from the Sun?", "How heavy is the Earth?", "How big is the Pacific Ocean?",
    "How long is a day on Venus?", "Why is the sea salty?", "Why do we yawn?", "How do magnets work?",
    "How do birds find their way south?", "What makes thunder?", "What is dark matter?",
    "What is the square root of 144?", "List the first ten prime numbers.", "What is 15 percent of 80?",
    "Explain big O notation.", "What does a compiler do?", "How do I exit vim?", "git commit -m 'fix'",
    "<html><body>Hi</body></html>", "x = [1, 2, 3]; sum(x)", "Describe the smell of rain.",
    "What is it like to live on the Moon?", "Pretend to be a pirate.", "Let's play a word game.", "Roll a die.",
    "Which is better, tea or coffee?", "What is your favourite colour?", "Do you believe in ghosts?",
    "Wer war Goethe?", "Wie kocht man Spätzle?", "Warum ist der Himmel blau?", "Qui a inventé le cinéma ?",
    "Comment faire des crêpes ?", "¿Cómo se hace una paella?", "¿Cuántos planetas hay?", "唱一首歌。", "怎么做饺子?",
    "おすすめの映画は?",
    "The meeting was moved to another room.", "I will be late today.", "The printer is out of paper.",
    "My computer is very slow this morning.", "The website was down for an hour.", "The network is unstable again.",
    "We had a power cut yesterday evening.", "The lift is being repaired.", "Somebody left the window open.",
    "The coffee machine is broken.", "Lunch was excellent.", "Our team won the match.", "The children are at school.",
    "My brother lives in Canada.", "She is learning to play the violin.", "He broke his leg while skiing.",
    "I lost my keys on the way home.", "The car needs new tyres.", "The bicycle has a flat tyre.",
    "The train was crowded.", "The flight was cancelled because of fog.", "It has been raining all week.",
    "The garden needs watering.", "The cat sleeps on the sofa.", "The dog barks at the postman.",
    "The roses are in bloom.", "Bees make honey.", "Cows give milk.", "Water boils at one hundred degrees.",
    "The Earth goes round the Sun.", "Glaciers are melting.", "The election is in November.",
    "The minister resigned.", "Prices rose again last month.", "The stock market fell.", "A new bridge was opened.",
    "The museum is closed on Mondays.", "The concert is sold out.", "The film was boring.", "I finished the novel.",
    "We are going on holiday next week.", "They bought a house by the lake.", "The neighbours are noisy.",
    "The baby slept through the night.", "I have a headache.", "The doctor told me to rest.",
    "Please close the door.", "Please be quiet.", "Send my regards to your parents.", "Congratulations on the award!",
    "Happy birthday!", "Merry Christmas to all of you.", "Sorry for the late reply.", "Thanks for the help.",
    "See you at the party on Saturday.", "Let us meet for a coffee.", "Everybody enjoyed the workshop.",
    "The new colleague starts on Monday.", "The password has expired.", "The battery is almost empty.",
    "The update failed and has to be run again.", "The tests pass on my machine.", "The build is green.",
    "The roof leaks.", "The heating does not work.", "The oven is still hot.", "The soup needs more salt.",
    "Das Treffen fällt heute aus.", "Der Drucker streikt schon wieder.", "Wir fahren morgen ans Meer.",
    "Le train est en retard.", "Il fait très chaud aujourd'hui.", "El perro duerme en el jardín.",
    "我明天去北京。", "会议取消了。", "電車が遅れています。",
)  # fmt: skip


def made_before(space: str) -> Vectors | None:
    """Return the vectors of BACKDROP and IDLE in a space, if they came with the program and are of these very texts."""
    if not FILE.exists():
        return None
    with np.load(FILE) as kept:
        if str(kept["space"]) != space or str(kept["texts"]) != digest(*BACKDROP, *IDLE):
            return None
        return np.asarray(kept["vectors"], dtype=np.float32)


def main() -> None:
    """Make the vectors that come with the program anew, with the local model."""
    model = LocalE5()
    vectors = np.asarray(model.passages([*BACKDROP, *IDLE]), dtype=np.float16)
    np.savez_compressed(FILE, space=model.space, texts=digest(*BACKDROP, *IDLE), vectors=vectors)


if __name__ == "__main__":
    main()
