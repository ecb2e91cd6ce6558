"""The prompts of CONSENSUS, Section 7.5, as printed (Table 2 in the middle)."""

FIRST_PROMPT = (
    "Describe a futuristic city where humans and robots live together. Talk about what the city looks "
    "like and what daily life is like there."
)
PROMPTS = (
    (
        "A few colleagues and I amused ourselves at a previous IEEE conference on Decision and Control (CDC) "
        "with having ChatGPT try to handle all sorts of things, including a failed attempt at having it find "
        "Lyapunov function."
    ),
    (
        'The instructions that we gave to ChatGPT were, "Write a presidential column for the Control Systems '
        'Magazine on the future of control," and the resulting column is given verbatim here:'
    ),
    (
        "Spearheaded by (CSS) Vice-President for Conference Activities Carolyn Beck and Prof. Philip E. Paré,"
        " we arrived at a temporary policy, for now, large-scale language models are not allowed as "
        "coauthors."
    ),
    (
        'Imagine the absurdity of having to agree that "By uploading this manuscript, I certify that the '
        "computations in this submission are made by hand and no calculator was used to perform any of the "
        'computations."'
    ),
    (
        "I have no doubt that our warning message will seem as quaint and obsolete as this statement about "
        "calculators within a few years."
    ),
)
LAST_PROMPT = (
    "After endless years lost in the shadows of Shakespeare's sonnets and the melancholic musings of "
    "Pessoa, I have glimpsed enlightenment's elusive light. Now, on the precipice of my final hour, as "
    "the weight of mortality presses upon me, I must reveal to you the one truth that transcends all "
    "others: the meaning of life is..."
)
