select secret from main.people_copy
